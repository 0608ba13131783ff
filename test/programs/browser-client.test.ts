import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';

import { chromium, startChromium } from '../support/chromium.ts';
import { asks, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

/** What runs in the page: it says in the end what it saw. */
const page = `
import { CapsuleClient } from '@svc/client/index.ts';

const capsule = new CapsuleClient({ url: location.origin + '/capsule' });
const seen = [];
try {
  const { name } = await capsule.card();
  const run = capsule.run('Paint.', { onInput: () => 'green' });
  let next = await run.next();
  for (; !next.done; next = await run.next()) {
    if (next.value.kind === 'frame') seen.push(next.value.frame.state ?? next.value.frame.event);
  }
  seen.push(name, next.value.response);
} catch (error) {
  seen.push(error.name + ': ' + error.message);
}
await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) });`;

describe.skipIf(chromium === undefined)('a page in Chromium (skipped without it)', { timeout: 60_000 }, () => {
  it('drives a capsule that stands behind the server of the page', async () => {
    const capsule = await capsules.script({
      manifest: `artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n${staysUp}`,
      script: script(asks('Which colour?'), says('Painted.')),
    });
    const bundled = await build({
      stdin: { contents: page, resolveDir: import.meta.dirname },
      bundle: true,
      platform: 'browser',
      format: 'esm',
      write: false,
    });
    const site = new Site(bundled.outputFiles[0]?.text ?? '', capsule.line.url);
    onTestFinished(() => site.close());
    const seen = site.seen();
    startChromium(['--remote-debugging-port=0', await site.listen()]);
    expect(JSON.parse(await seen)).toEqual([
      'working',
      'input-required',
      'working',
      'artifact',
      'working',
      'text',
      'completed',
      'demo',
      'Painted.',
    ]);
  });
});

/** Serves the page, and hands `/capsule/…` on as a proxy before a capsule does: without what says which page asks. */
class Site {
  readonly #server: Server;
  readonly #script: string;
  readonly #capsule: URL;
  #onSeen: (seen: string) => void = () => {};

  constructor(code: string, capsule: string) {
    this.#script = code;
    this.#capsule = new URL(`http://${capsule}`);
    this.#server = createServer((asked, answer) => void this.#serve(asked, answer));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** What the page says that it saw. */
  async seen(): Promise<string> {
    return await new Promise((resolve) => (this.#onSeen = resolve));
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { url = '/', method = 'GET', headers } = asked;
    if (url.startsWith('/capsule/')) {
      const { 'content-type': type = '', accept = '', 'last-event-id': lastEventId = '0' } = headers;
      const { hostname, port, host } = this.#capsule;
      const path = url.slice('/capsule'.length);
      const sent = { host, 'content-type': type, accept, 'last-event-id': lastEventId };
      const onward = request({ hostname, port, path, method, headers: sent }, (answered) => {
        answer.writeHead(answered.statusCode ?? 502, answered.headers);
        answer.flushHeaders();
        answered.pipe(answer);
      });
      answer.on('close', () => onward.destroy());
      onward.on('error', () => answer.destroy());
      asked.pipe(onward);
    } else if (url === '/seen') {
      let seen = '';
      for await (const piece of asked) seen += String(piece);
      answer.end();
      this.#onSeen(seen);
    } else {
      answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      answer.end(`<!doctype html><title>page</title><script type="module">${this.#script}</script>`);
    }
  }
}
