import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import { says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const preloads = (name: string): string => fileURLToPath(new URL(`../support/${name}.cjs`, import.meta.url));

type Json = Readonly<Record<string, unknown>>;

interface Served {
  /** Each line that the server writes. */
  readonly next: () => Promise<Json>;
  readonly send: (message: unknown) => void;
  /** Settles when the capsule runs. */
  readonly up: () => Promise<void>;
  /** Ends standard input; the files that the process has loaded. */
  readonly end: () => Promise<readonly string[]>;
}

const isOfLibrary = (file: string): boolean => file.includes('modelcontextprotocol-server');

/** `svc serve mcp` beside a capsule that runs over HTTP, of the same manifest. The library is loaded once there is a file `heldUntil`. */
async function served(heldUntil = program): Promise<Served & { url: string }> {
  const capsule = await capsules.script({ manifest: staysUp, script: script(says('one')) });
  const { folder, home } = capsule.workspace;
  const loaded = mkdtempSync(join(tmpdir(), 'svc-first-answer-'));
  onTestFinished(() => rmSync(loaded, { recursive: true, force: true }));
  const list = join(loaded, 'files');
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    LOADED_FILES: list,
    HELD_UNTIL: heldUntil,
    SVC_CONTAINMENT_CEILING: 'advisory',
  };
  const args = [
    '--require',
    preloads('loaded-files'),
    '--require',
    preloads('held-library'),
    program,
    'serve',
    'mcp',
    '--offline',
  ];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    up: () => expect.poll(() => readRunningRecords(home).length).toBe(2),
    url: `http://${capsule.line.url}/mcp`,
    next: async () => JSON.parse((await lines.next()).value as string) as Json,
    send: (message) => void child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`),
    end: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
      return readFileSync(list, 'utf8').split('\n');
    },
  };
}

const clientInfo = { name: 't', version: '1', title: 'T' };

function initialize(protocolVersion: string, capabilities: unknown = {}): Json {
  return { jsonrpc: '2.0', id: 'first', method: 'initialize', params: { protocolVersion, capabilities, clientInfo } };
}

/** What the library answers to the same, over HTTP. */
async function ofLibrary(url: string, message: Json): Promise<Json> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const text = await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })).text();
  const data =
    text
      .split('\n')
      .find((line) => line.startsWith('data: {'))
      ?.slice(6) ?? text;
  return JSON.parse(data) as Json;
}

describe('the first answer of svc serve mcp', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'to a client of %s is that of the library, which goes on from there',
    async (version) => {
      const { url, next, send, end } = await served();
      const message = initialize(version, { elicitation: { form: {} }, roots: { listChanged: true } });
      send(message);
      const answer = await next();
      expect(answer).toEqual(await ofLibrary(url, message));
      expect(answer['result']).toMatchObject({ protocolVersion: version, serverInfo: { name: 'demo' } });
      send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      send({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
      expect(await next()).toMatchObject({ id: 2, result: { tools: [{ name: 'demo' }] } });
      await end();
    },
  );

  it('comes before the library is loaded, which nobody needs who says nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-first-answer-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const heldUntil = join(folder, 'go');
    const { next, send, end } = await served(heldUntil);
    send(initialize('2025-11-25'));
    send({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    expect(await next()).toMatchObject({ id: 'first' });
    writeFileSync(heldUntil, '');
    expect(await next()).toMatchObject({ id: 2 });
    expect((await end()).some(isOfLibrary)).toBe(true);
    const silent = await served();
    await silent.up();
    const files = await silent.end();
    expect([files.length > 3, files.filter(isOfLibrary)]).toEqual([true, []]);
  });

  it.each<[string, string]>([
    ['a version that nobody knows', JSON.stringify(initialize('1999-01-01'))],
    ['no client', JSON.stringify({ jsonrpc: '2.0', id: 'first', method: 'initialize', params: {} })],
    ['a list of abilities', JSON.stringify(initialize('2025-11-25', []))],
    ['another method', JSON.stringify({ jsonrpc: '2.0', id: 'first', method: 'ping' })],
  ])('to %s is what the library makes of it', async (_what, line) => {
    const { next, send, end } = await served();
    send(line);
    const answer = await next();
    expect(answer['id']).toBe('first');
    const message = JSON.parse(line) as { params?: { protocolVersion?: string } };
    if (message.params?.protocolVersion === '1999-01-01') {
      expect(answer['result']).toMatchObject({ protocolVersion: '2025-11-25' });
    }
    await end();
  });
});
