import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';

import { afterEach, expect, it } from 'vitest';

import { useStreamedCapsules } from '../support/streamed-capsule.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { compactJson, exchangesOf, patternOf, type ShownRequest, type ShownResponse } from './support/exchanges.ts';

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
const capsules = useStreamedCapsules();
const answers: Answer[] = [];
afterEach(() => {
  for (const answer of answers.splice(0)) answer.close();
});

/** An answer whose head has come, with what has come of its body so far. */
class Answer {
  readonly #message: IncomingMessage;
  #body = '';
  readonly ended: Promise<unknown>;
  #changed: () => void = () => {};

  private constructor(message: IncomingMessage) {
    this.#message = message;
    this.ended = once(message, 'close').finally(() => this.#changed());
    message.setEncoding('utf8').on('data', (text: string) => {
      this.#body += text;
      this.#changed();
    });
  }

  static async to({ method, path, headers, body }: ShownRequest, url: string): Promise<Answer> {
    const [host, port] = url.split(':');
    const request = httpRequest({ host, port, method, path, headers, agent: false }).end(body);
    const [message] = (await once(request, 'response')) as [IncomingMessage];
    const answer = new Answer(message);
    answers.push(answer);
    return answer;
  }

  get head(): Pick<IncomingMessage, 'statusCode' | 'headers'> {
    return this.#message;
  }

  /** The body once `isEnough` says so of it, or once it has ended. */
  async body(isEnough: (body: string) => boolean): Promise<string> {
    while (!isEnough(this.#body) && !this.#message.closed) await new Promise<void>((done) => (this.#changed = done));
    return this.#body;
  }

  close(): void {
    this.#message.destroy();
  }
}

const begins = (text: string): RegExp => new RegExp(`^${patternOf(text)}`);
const isWholly = (text: string): RegExp => new RegExp(`^${patternOf(text)}$`);

/** Fails unless the answer is as shown. An event stream has to begin so. */
async function compare(answer: Answer, { status, headers, body }: ShownResponse): Promise<void> {
  const { statusCode, headers: sent } = answer.head;
  expect(statusCode).toBe(status);
  for (const [name, value] of Object.entries(headers)) expect(sent[name]).toMatch(isWholly(value));
  const type = headers['content-type'];
  if (type === 'text/event-stream') {
    expect(await answer.body((text) => begins(body).test(text))).toMatch(begins(body));
  } else {
    const got = await answer.body(() => false);
    const isJson = type === 'application/json';
    expect(isJson ? compactJson(got) : got).toMatch(isWholly(isJson ? compactJson(body) : body));
  }
}

/** The answer to a request that a client repeats until the answer is as shown. */
async function poll(asked: ShownRequest, shown: ShownResponse, url: string): Promise<Answer> {
  for (;;) {
    const answer = await Answer.to(asked, url);
    const body = compactJson(await answer.body(() => false));
    if (!/"state":"(submitted|working)"/.test(body) || isWholly(compactJson(shown.body)).test(body)) return answer;
  }
}

it('a running capsule answers each request of docs/protocol.md as the page shows', { timeout: 60_000 }, async () => {
  const [, manifest = ''] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? [];
  const [, script = ''] = /^```yaml file=script.yaml\n([^]*?)^```$/m.exec(page) ?? [];
  const capsule = await capsules.from(makeWorkspace({ 'svc.yaml': manifest, 'script.yaml': script }));
  const { url } = capsule.line;
  let asked: ShownRequest | null = null;
  let stream: { readonly answer: Answer; readonly begun: string; readonly ends: boolean } | null = null;
  let taskId = '';
  let compared = 0;

  for (const shown of exchangesOf(page)) {
    if (shown.kind === 'request') {
      expect(asked).toBeNull();
      asked = { ...shown, body: shown.body.replaceAll('tsk_…', taskId) };
    } else if (shown.kind === 'response') {
      if (asked === null) throw new Error(`nothing was asked before:\n${shown.body}`);
      const isPolled = asked.body.includes('"tasks/get"');
      const answer = isPolled ? await poll(asked, shown, url) : await Answer.to(asked, url);
      await compare(answer, shown);
      taskId = /tsk_[0-9a-f]{32}/.exec(await answer.body(() => true))?.[0] ?? taskId;
      if (asked.body.includes('"message/stream"')) stream = { answer, begun: shown.body, ends: true };
      if (asked.headers['svc-events'] === '1' && asked.body.includes('"stream/watch"')) {
        stream = { answer, begun: shown.body, ends: false };
      }
      if (shown.body.startsWith('event: error')) await answer.ended;
      asked = null;
      compared += 1;
    } else {
      if (stream === null) throw new Error('no stream is open');
      const whole = stream.begun + shown.body;
      const expected = stream.ends ? isWholly(whole) : begins(whole);
      const { answer, ends } = stream;
      expect((await answer.body((text) => !ends && expected.test(text))).trimEnd()).toMatch(expected);
    }
  }
  expect(compared).toBe([...page.matchAll(/^HTTP\/1\.1 /gm)].length);
});
