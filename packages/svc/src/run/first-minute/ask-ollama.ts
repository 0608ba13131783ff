/** Asks an Ollama on this machine which models it has. */

import * as z from 'zod/mini';

import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { ownConnection } from '@svc/kit/net/connections.ts';

/** A running Ollama answers at once. */
const usualAnswerMs = 200;
const maxBytes = 1024 * 1024;
/** So many of the newest models are asked what they can do. */
const maxAsked = 8;

const tags = z.object({ models: z.array(z.object({ name: z.string().check(z.minLength(1), z.maxLength(256)) })) });
const abilities = z.object({ capabilities: z.array(z.string()) });

/** Where Ollama listens: `OLLAMA_HOST`, its own variable, else `http://localhost:11434`. Not checked. */
export function ollamaAddress(env: Readonly<Record<string, string | undefined>>): string {
  const host = (env['OLLAMA_HOST'] ?? '').trim().replace(/\/+$/, '');
  if (host === '') return 'http://localhost:11434';
  // A server that listens on every address is found at this machine's own.
  const reached = host.replace(/(^|\/)(?:0\.0\.0\.0|\[::\])(?=$|:)/, '$1localhost');
  if (/^https?:\/\//i.test(reached)) return reached;
  return /:\d+$/.test(reached) ? `http://${reached}` : `http://${reached}:11434`;
}

/**
 * The newest model of an Ollama at this address that can call tools, else the newest that is not there to embed texts; null when it has
 * no such model, or nothing answers within 200 ms, each time that it is asked.
 */
export async function askOllama(address: string, answerMs: number = usualAnswerMs): Promise<string | null> {
  const listed = tags.safeParse(await answerOf(`${address}/api/tags`, answerMs));
  if (!listed.success) return null;
  const names = listed.data.models.map(({ name }) => name);
  const asked = names.slice(0, maxAsked);
  const able = await Promise.all(asked.map(async (name) => await canCallTools(address, name, answerMs)));
  return asked.find((_, index) => able[index] === true) ?? names.find((name) => !/embed|bert/i.test(name)) ?? null;
}

async function canCallTools(address: string, model: string, answerMs: number): Promise<boolean> {
  const told = abilities.safeParse(await answerOf(`${address}/api/show`, answerMs, JSON.stringify({ model })));
  return told.success && told.data.capabilities.includes('tools');
}

/** Undefined where nothing answers, or what it says is too long or no JSON. */
async function answerOf(url: string, answerMs: number, body?: string): Promise<unknown> {
  const signal = AbortSignal.timeout(answerMs);
  try {
    const sent = body === undefined ? {} : { body };
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    const { status, body: answer } = await ownConnection(url, { method, headers, ...sent, signal, redirect: 'manual' });
    const text = await textOf(answer?.getReader() ?? null);
    return status === 200 && text !== null ? (JSON.parse(text) as unknown) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || signal.aborted || isSystemError(error)) return undefined;
    // What answers need not speak HTTP.
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}

async function textOf(
  reader: { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>; cancel(): Promise<unknown> } | null,
): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (value !== undefined) pieces.push(value);
    size += value?.length ?? 0;
    if (size > maxBytes) {
      await reader?.cancel();
      return null;
    }
    if (done) return Buffer.concat(pieces).toString('utf8');
  }
}
