import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import { createParser } from 'eventsource-parser';
import { onTestFinished } from 'vitest';

import type { A2aCapsule, A2aOptions, Json } from './a2a-capsule.ts';
import { useA2aCapsules } from './a2a-capsule.ts';

/** An opener of capsules with the OpenAI door alone. */
export function useOpenAiCapsules(): (options?: A2aOptions) => Promise<OpenAiCalls> {
  const open = useA2aCapsules();
  return async (options = {}) => new OpenAiCalls(await open({ serve: ['openai'], ...options }));
}

/** What a client of the OpenAI API asks of one capsule. */
export class OpenAiCalls {
  readonly capsule: A2aCapsule;

  constructor(capsule: A2aCapsule) {
    this.capsule = capsule;
  }

  run(): this {
    this.capsule.run();
    return this;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return await fetch(`${this.capsule.url}${path}`, { headers });
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    return await this.capsule.post(text, headers, path);
  }

  /** The response to a request, which has to be accepted. */
  async respond(body: Json, headers: Record<string, string> = {}): Promise<Json> {
    return await accepted(await this.post('/v1/responses', body, headers));
  }

  async chat(messages: readonly Json[], headers: Record<string, string> = {}): Promise<Json> {
    return await accepted(await this.post('/v1/chat/completions', { model: 'demo', messages }, headers));
  }

  async retrieve(id: string, headers: Record<string, string> = {}): Promise<Json> {
    return await accepted(await this.get(`/v1/responses/${id}`, headers));
  }

  async cancel(id: string, headers: Record<string, string> = {}): Promise<Json> {
    return await accepted(await this.post(`/v1/responses/${id}/cancel`, '', headers));
  }

  /** Status, and code and param of the error. */
  async refusal(path: string, body: unknown, headers: Record<string, string> = {}): Promise<unknown[]> {
    const response = await this.post(path, body, headers);
    const { error } = (await response.json()) as Json;
    return [response.status, error?.code, error?.param];
  }

  /** All events of a stream once it has ended; data that is no JSON as it is. */
  async stream(path: string, body: Json, headers: Record<string, string> = {}): Promise<readonly SentEvent[]> {
    const response = await this.post(path, { ...body, stream: true }, headers);
    if (response.status !== 200) throw new Error(`refused: ${await response.text()}`);
    return eventsOf(await response.text());
  }

  /** A connection that reads nothing of what it asked for. */
  async deaf(path: string, body: Json, header = 'x-none: 1'): Promise<Socket> {
    const text = JSON.stringify(body);
    const socket = connect({ port: this.capsule.port, host: '127.0.0.1' });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.pause();
    socket.on('error', () => {});
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${header}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    return socket;
  }
}

export interface SentEvent {
  readonly event: string | undefined;
  readonly data: Json | string;
}

export function eventsOf(text: string): readonly SentEvent[] {
  const events: SentEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      events.push({ event, data: data.startsWith('{') ? (JSON.parse(data) as Json) : data });
    },
  });
  parser.feed(text);
  return events;
}

async function accepted(response: Response): Promise<Json> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text) as Json;
}

export const user = (content: unknown): Json => ({ role: 'user', content });
export const assistant = (content: unknown): Json => ({ role: 'assistant', content });
/** What a chat was answered. */
export const saidIn = (completion: Json): string => completion['choices'][0].message.content as string;
/** What a response says. */
export const textOf = ({ output }: Json): string =>
  (output as Json[]).flatMap(({ content }) => (content as Json[]).map(({ text }) => text as string)).join('');
