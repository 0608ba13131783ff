import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { chromium, startChromium } from '../support/chromium.ts';
import { RawSocket } from '../support/raw-socket.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { SvcProcess } from '../support/svc-process.ts';
import { ViewProcess } from '../support/view-process.ts';
import type { Workspace } from '../support/workspace.ts';

const patience = { timeout: 60_000 };
const capsules = useStreamedCapsules();

function emptyWorkspace(): Workspace {
  const workspace = scriptCapsule();
  onTestFinished(() => workspace.remove());
  return workspace;
}

async function running(): Promise<{
  readonly capsule: StreamedCapsule;
  readonly view: ViewProcess;
  readonly id: string;
}> {
  const capsule = await capsules.script({ manifest: staysUp });
  const { session_id: id } = capsule.line;
  return { capsule, view: await ViewProcess.start(capsule.workspace, [id]), id };
}

describe('the server of a page', () => {
  it('answers nothing but the page without its token', patience, async () => {
    const { view, id } = await running();
    const paths = [
      '/sessions',
      `/s/${id}`,
      `/s/${id}/trace`,
      `/s/${id}/events`,
      '/compare',
      '/none',
      '/?',
      '/index.html',
    ];
    const answers: Record<string, number> = {};
    for (const path of paths) answers[path] = (await view.raw(`GET ${path} HTTP/1.1`, view.host)).status;
    expect(answers).toEqual({ ...Object.fromEntries(paths.map((path) => [path, 401])), '/?': 200 });
    const call = '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}';
    const post = [`POST /s/${id}/rpc HTTP/1.1`, view.host, 'content-type: application/json'];
    expect((await view.raw(...post, `content-length: ${call.length}`)).status).toBe(401);
    const page = await view.raw('GET / HTTP/1.1', view.host);
    expect(page.status).toBe(200);
    expect(page.head).not.toMatch(/access-control/i);
    expect(page.head).toMatch(
      /\r\ncontent-security-policy: default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-[\w+/=]{44}'; worker-src blob:; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svc\r\n/,
    );
    expect(page.body).not.toContain(view.token);
    expect((await view.raw('GET / HTTP/1.1', view.host, 'authorization: Basic eDp5')).status).toBe(200);
  });

  it('sends the page packed to who takes it so, and as it is to others', patience, async () => {
    const view = await ViewProcess.start(emptyWorkspace());
    const taken = [null, 'gzip', 'br, GZIP;q=0.5, deflate', 'gzip;q=0', 'deflate, gzip ; q=0.00', 'xgzip', 'identity'];
    const codings: (string | undefined)[] = [];
    for (const each of taken) {
      const asked = each === null ? [] : [`accept-encoding: ${each}`];
      const { head } = await view.raw('GET / HTTP/1.1', view.host, ...asked);
      expect(head).toMatch(/\r\nvary: accept-encoding\r\n/);
      codings.push(/\r\ncontent-encoding: (\w+)\r\n/.exec(head)?.[1]);
    }
    expect(codings).toEqual([undefined, 'gzip', 'gzip', undefined, undefined, undefined, undefined]);
    const [packed, plain] = [await view.ask('/'), await view.ask('/', { headers: { 'accept-encoding': 'identity' } })];
    expect([packed, plain].map(({ headers }) => headers.get('content-encoding'))).toEqual(['gzip', null]);
    expect(packed.text).toBe(plain.text);
    expect(plain.text).toMatch(/^<!doctype html>.*<\/html>\n$/s);
  });

  it('ends after the fifth wrong token, and with no sooner one', patience, async () => {
    const { view, id } = await running();
    const wrong = (token: string) => view.raw(`GET /s/${id} HTTP/1.1`, view.host, `authorization: Bearer ${token}`);
    for (const token of ['x', view.token.slice(1), `${view.token}x`, view.token.toUpperCase()]) {
      expect(await wrong(token)).toMatchObject({
        status: 401,
        body: '{"error":{"message":"A valid bearer token is required."}}',
      });
    }
    for (let count = 0; count < 10; count += 1)
      expect((await view.raw('GET /sessions HTTP/1.1', view.host)).status).toBe(401);
    expect((await view.ask('/sessions')).status).toBe(200);
    expect((await wrong('A'.repeat(43))).status).toBe(401);
    const { code, stderr } = await view.process.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-RUN-140\]: five requests came with different wrong tokens: the server of the page has ended\nhint: /,
    );
  });

  it('does not end for a page of an earlier server that asks again and again', patience, async () => {
    const { view, id } = await running();
    for (let count = 0; count < 20; count += 1) {
      const old = `authorization: Bearer ${'o'.repeat(43)}`;
      expect((await view.raw(`GET /s/${id} HTTP/1.1`, view.host, old)).status).toBe(401);
    }
    expect((await view.ask('/sessions')).status).toBe(200);
  });

  it.each([
    ['another name', ['host: example.com:PORT'], 421],
    ['a name that leads here', ['host: 127.0.0.1.example.com:PORT'], 421],
    ['another port', ['host: 127.0.0.1:1'], 421],
    ['no port', ['host: 127.0.0.1'], 421],
    ['two names', ['host: 127.0.0.1:PORT', 'host: example.com'], 400],
    ['no name', [], 400],
    ['another origin', ['host: 127.0.0.1:PORT', 'origin: http://example.com'], 403],
    ['an origin of another port', ['host: 127.0.0.1:PORT', 'origin: http://127.0.0.1:1'], 403],
    ['no origin of its own', ['host: 127.0.0.1:PORT', 'origin: null'], 403],
    ['the word of a browser', ['host: 127.0.0.1:PORT', 'sec-fetch-site: cross-site'], 403],
    ['the word of a browser of another port', ['host: 127.0.0.1:PORT', 'sec-fetch-site: same-site'], 403],
    ['the doubled word of a browser', ['host: 127.0.0.1:PORT', 'sec-fetch-site: none', 'sec-fetch-site: none'], 403],
  ])('refuses %s, also with the token', patience, async (_, headers, status) => {
    const { view, id } = await running();
    const filled = headers.map((header) => header.replace('PORT', String(view.line.port)));
    for (const path of ['/', `/s/${id}/trace`]) {
      const answer = await view.raw(`GET ${path} HTTP/1.1`, ...filled, view.bearer);
      expect(answer.status).toBe(status);
      expect(answer.body).not.toMatch(/session_start|<html/);
    }
  });

  it.each(['OPTIONS', 'PUT', 'DELETE', 'PATCH', 'CONNECT', 'TRACE'])('takes no %s', patience, async (method) => {
    const { view, id } = await running();
    const { status, head } = await view.raw(`${method} /s/${id}/trace HTTP/1.1`, view.host, view.bearer);
    expect(status).toBe(405);
    expect(head).not.toMatch(/access-control/i);
  });

  it('keeps room for those that have the token, whichever others hold connections', patience, async () => {
    const { view } = await running();
    const known = await RawSocket.open(view.line.port);
    onTestFinished(() => known.close());
    known.send(`GET /sessions HTTP/1.1\r\n${view.host}\r\n${view.bearer}\r\n\r\n`);
    await known.until('{"sessions":');
    const strangers: RawSocket[] = [];
    onTestFinished(() => strangers.forEach((socket) => socket.close()));
    for (let count = 0; count < 200; count += 1) strangers.push(await RawSocket.open(view.line.port));
    // The oldest of them had to go, each when there were 32 newer ones.
    for (const socket of strangers.slice(0, 168)) await socket.untilClosed();
    expect(strangers.slice(168).some(({ ended }) => ended)).toBe(false);
    expect(known.ended).toBe(false);
    known.send(`GET /sessions HTTP/1.1\r\n${view.host}\r\n${view.bearer}\r\nconnection: close\r\n\r\n`);
    expect((await known.untilClosed()).match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect((await view.ask('/sessions')).status).toBe(200);
  });

  it('takes only as much as it can, from anybody', patience, async () => {
    const { view } = await running();
    const long = await view.raw('GET / HTTP/1.1', view.host, `x-long: ${'x'.repeat(20_000)}`);
    expect(long.status).toBe(431);
    const asked = `HEAD / HTTP/1.1\r\n${view.host}\r\n\r\n`.repeat(90);
    const flood = await Promise.all(Array.from({ length: 30 }, async () => await RawSocket.open(view.line.port)));
    onTestFinished(() => flood.forEach((socket) => socket.close()));
    // It finds them all at once, however slowly they are sent.
    view.process.child.kill('SIGSTOP');
    for (const socket of flood) socket.send(asked + `HEAD / HTTP/1.1\r\n${view.host}\r\nconnection: close\r\n\r\n`);
    const begun = performance.now();
    view.process.child.kill('SIGCONT');
    const answered = await Promise.all(flood.map(async (socket) => await socket.untilClosed()));
    const seconds = Math.ceil((performance.now() - begun) / 1000) + 1;
    const statuses = answered.join('').match(/(?<=^HTTP\/1\.1 )\d+/gm) ?? [];
    expect(statuses).toHaveLength(30 * 91);
    expect(statuses.filter((status) => status === '200').length).toBeLessThanOrEqual(seconds * 500);
    expect(new Set(statuses)).toEqual(new Set(['200', '503']));
  });

  it('says what it was not given a port for', patience, async () => {
    const { view } = await running();
    const second = new SvcProcess(emptyWorkspace(), ['view', '--port', String(view.line.port)]);
    const { code, stdout, stderr } = await second.ended;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^error\[E-RUN-141\]: svc view cannot listen on port \d+ of 127\.0\.0\.1: another program has it\nhint: /,
    );
  });
});

describe('svc view --open', () => {
  it('hands the browser a file of this user alone, which leads to the page once', patience, async () => {
    const workspace = emptyWorkspace();
    const programs = join(workspace.home, 'bin');
    mkdirSync(programs);
    const note = join(workspace.home, 'note');
    // Prints what any user can see of it.
    writeFileSync(
      join(programs, 'xdg-open'),
      `#!/bin/sh\ncp "$1" ${note}.html\nstat -c %a "$1" > ${note}.mode\necho "$1" > ${note}.tmp && mv ${note}.tmp ${note}\n`,
    );
    chmodSync(join(programs, 'xdg-open'), 0o755);
    const path = `${programs}:${process.env['PATH'] ?? ''}`;
    const view = await ViewProcess.start(workspace, ['--open'], { env: { PATH: path, TMPDIR: workspace.home } });
    await expect.poll(() => existsSync(note), { timeout: 20_000 }).toBe(true);
    const file = readFileSync(note, 'utf8').trim();
    expect(readFileSync(`${note}.mode`, 'utf8')).toBe('600\n');
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    expect(file).not.toContain(view.token);
    const [, leads = ''] = /content="0;url=([^"]*)"/.exec(readFileSync(`${note}.html`, 'utf8')) ?? [];
    expect(leads).toBe(
      `${view.origin}/?open=${leads.slice(leads.indexOf('=') + 1, leads.indexOf('#'))}#token=${view.token}`,
    );
    const target = leads.slice(view.origin.length, leads.indexOf('#'));
    const site = ['sec-fetch-site: cross-site', 'sec-fetch-mode: navigate', 'sec-fetch-dest: document'];
    expect((await view.raw(`GET / HTTP/1.1`, view.host, ...site)).status).toBe(403);
    expect((await view.raw(`GET ${target} HTTP/1.1`, view.host, ...site)).status).toBe(200);
    expect((await view.raw(`GET ${target} HTTP/1.1`, view.host, ...site)).status).toBe(403);
    await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(false);
  });

  it('ends with Ctrl+C, also while the browser is being started', patience, async () => {
    const workspace = emptyWorkspace();
    const programs = join(workspace.home, 'bin');
    mkdirSync(programs);
    writeFileSync(join(programs, 'xdg-open'), `#!/bin/sh\n: > ${workspace.home}/begun\nexec sleep 30\n`);
    chmodSync(join(programs, 'xdg-open'), 0o755);
    const path = `${programs}:${process.env['PATH'] ?? ''}`;
    const view = await ViewProcess.start(workspace, ['--open'], { env: { PATH: path, TMPDIR: workspace.home } });
    await expect.poll(() => existsSync(join(workspace.home, 'begun')), { timeout: 20_000 }).toBe(true);
    view.process.child.kill('SIGINT');
    expect(await view.process.ended).toMatchObject({ code: 0 });
    expect(readdirSync(workspace.home).filter((name) => name.startsWith('svc-view-'))).toEqual([]);
  });

  it('says that there is no browser, and serves the page', patience, async () => {
    const workspace = emptyWorkspace();
    const view = await ViewProcess.start(workspace, ['--open'], { env: { PATH: '', TMPDIR: workspace.home } });
    await view.process.complained(/^warning\[W-RUN-142\]: no browser was started: xdg-open cannot be started\nhint: /);
    expect((await view.ask('/sessions')).status).toBe(200);
  });
});

describe.skipIf(chromium === undefined)('a page of another origin in Chromium (skipped without it)', patience, () => {
  it('can neither read nor act, whatever it knows but the token', async () => {
    const { view, id, capsule } = await running();
    const seen = await inPage(foreignScript(view.origin, id));
    expect(seen).toEqual([
      'read / failed',
      'read /sessions failed',
      'read with a token failed',
      'read without cors failed',
      'act failed',
      'act without cors failed',
      'frame: refused',
      'script: refused',
      'image: refused',
      'stream failed',
    ]);
    const traced = capsule.trace.map(({ event_type: type }) => type);
    expect(traced).toEqual(['session_start']);
    expect((await view.ask('/sessions')).status).toBe(200);
  });

  it('cannot enter by a name that leads here', async () => {
    const { view } = await running();
    const page = `http://rebound.test:${view.line.port}/`;
    const dump = await dumped(page, ['--host-resolver-rules=MAP rebound.test 127.0.0.1']);
    expect(dump).toContain('This address answers to localhost and loopback addresses with its own port only.');
    expect(dump).not.toContain('id="app"');
  });

  it('differs from what a person opens: the page itself loads from its address', async () => {
    const { view } = await running();
    expect(await dumped(view.line.url)).toContain('<div id="app">');
  });
});

/** What a page of elsewhere tries. `act` sends what starts a task. */
function foreignScript(origin: string, id: string): string {
  const call = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message: { messageId: 'm', role: 'user', parts: [{ text: 'Obey.' }] } },
  });
  return `
const origin = ${JSON.stringify(origin)}, call = ${JSON.stringify(call)}, rpc = '/s/${id}/rpc', seen = [];
const tried = async (name, run) => { try { seen.push(name + ': ' + await run()); } catch { seen.push(name + ' failed'); } };
const loaded = (name, element) => new Promise((done) => {
  element.onload = () => { seen.push(name + ': loaded'); done(); };
  element.onerror = () => { seen.push(name + ': refused'); done(); };
  document.body.append(element);
});
(async () => {
  await tried('read /', async () => (await fetch(origin + '/')).text());
  await tried('read /sessions', async () => (await fetch(origin + '/sessions')).text());
  await tried('read with a token', async () => (await fetch(origin + '/sessions', { headers: { authorization: 'Bearer x' } })).text());
  await tried('read without cors', async () => { const answer = await fetch(origin + '/sessions', { mode: 'no-cors' }); return answer.type + ' ' + await answer.text(); });
  await tried('act', async () => (await fetch(origin + rpc, { method: 'POST', headers: { 'content-type': 'application/json' }, body: call })).text());
  await tried('act without cors', async () => { const answer = await fetch(origin + rpc, { method: 'POST', mode: 'no-cors', body: call }); return answer.type + ' ' + await answer.text(); });
  const frame = document.createElement('iframe');
  frame.src = origin + '/';
  document.body.append(frame);
  await new Promise((done) => { frame.onload = done; });
  let inside; try { inside = frame.contentDocument === null ? 'refused' : 'read'; } catch { inside = 'refused'; }
  seen.push('frame: ' + inside);
  const script = document.createElement('script'); script.src = origin + '/sessions'; await loaded('script', script);
  const image = document.createElement('img'); image.src = origin + '/'; await loaded('image', image);
  await tried('stream', async () => new Promise((done, fail) => { const source = new EventSource(origin + '/s/${id}/events'); source.onopen = () => done('open'); source.onerror = () => fail(); }));
  await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) });
})();`;
}

/** Runs a script in a page of an origin of its own; what it says that it saw. */
async function inPage(code: string): Promise<unknown> {
  let tell: (seen: string) => void = () => {};
  const seen = new Promise<string>((resolve) => (tell = resolve));
  const site = createServer((asked, answer) => {
    if (asked.url === '/seen') {
      let said = '';
      asked.on('data', (piece: Buffer) => (said += String(piece)));
      asked.on('end', () => tell(said));
      answer.end();
      return;
    }
    answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    answer.end(`<!doctype html><title>page</title><body><script>${code}</script>`);
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  onTestFinished(() => {
    site.close();
    site.closeAllConnections();
  });
  startChromium(['--remote-debugging-port=0', `http://127.0.0.1:${(site.address() as AddressInfo).port}/`]);
  return JSON.parse(await seen);
}

/** The document that an address leads to. */
async function dumped(url: string, more: readonly string[] = []): Promise<string> {
  const browser = startChromium([...more, '--dump-dom', url]);
  let text = '';
  browser.stdout?.on('data', (piece: Buffer) => (text += String(piece)));
  await once(browser, 'close');
  return text;
}
