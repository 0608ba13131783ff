/** Hosts that a person at the terminal grants to a task while it runs. A proxy of the machine stands for the network beyond this one. */

import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, type TestContext } from 'vitest';

import { calls, says } from '@svc/testing/fake-reply.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { task } from './first-minute-task.ts';

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** What was asked of hosts. */
let asked: string[] = [];
let beyond: Server;
beforeEach(async () => {
  asked = [];
  beyond = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end(`from ${request.headers.host}\n`);
  }).listen(0, '127.0.0.1');
  await once(beyond, 'listening');
  closing.push(() => void beyond.close());
});

async function fresh(context: TestContext, ...commands: readonly string[]): Promise<FirstMinute> {
  const minute = new FirstMinute({ ceiling: 'sealed' });
  closing.push(async () => await minute.dispose());
  await task(context, minute, ['true']);
  rmSync(join(minute.home, '.svc', 'adhoc'), { recursive: true });
  await minute.runs(...commands);
  return minute;
}

function start(minute: FirstMinute, args: readonly string[] = ['--allow', 'curl', 'ask them']): TerminalProcess {
  const { port } = beyond.address() as AddressInfo;
  const env = { ...minute.environment({}), http_proxy: `http://127.0.0.1:${port}` };
  const terminal = new TerminalProcess(minute.workspace, args, { env, columns: 120 });
  closing.push(() => void terminal.child.kill('SIGKILL'));
  return terminal;
}

/** A question has to be read before its answer counts. */
async function answers(terminal: TerminalProcess, host: string, keys: string): Promise<void> {
  const row = `  "${host}", to which a command can send whatever the task can read`;
  await terminal.shows(new RegExp(`^${row.replaceAll('.', '\\.')}$`));
  await terminal.shows(/^grant it\? y for this or the next command, s in this session, n no >/);
  await new Promise((resolve) => setTimeout(resolve, 400));
  terminal.type(keys);
}

function approvals(minute: FirstMinute): readonly Record<string, unknown>[] {
  const lines = minute.ofSession('approvals.jsonl').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const asks = 'curl -sS http://shop.example/a';

describe.skipIf(!hasPseudoTerminals())('a host that a task was not granted (skipped without python3)', () => {
  it('answers the request that waits, and others, once a person grants it to the session', async (context) => {
    const minute = await fresh(context, asks, 'curl -sS http://SHOP.example.:80/b; curl -sS http://shop.example:81/c');
    const terminal = start(minute);
    await answers(terminal, 'http://shop.example:80', 's\r');
    await answers(terminal, 'http://shop.example:81', 'n not that one\r');
    expect(await terminal.ended).toBe(0);
    const [first, second] = minute.results;
    expect(first).toContain('stdout:\nfrom shop.example\n');
    expect(first).toMatch(/\n\[a person has granted http:\/\/shop\.example:80 to commands from now on\]$/);
    expect(second).toContain('from shop.example\n');
    expect(second).toContain('[http://shop.example:81 stays refused: a person denied this call: not that one]');
    expect(asked).toEqual(['http://shop.example/a', 'http://shop.example/b']);
    const shown = terminal.terminal.rows.join('\n');
    expect(shown).toContain('refused: http://shop.example:81 (no network there): --net http://shop.example:81');
    expect(shown).not.toContain('--net http://shop.example\n');
    const by = { k: 'settled', by: 'terminal' };
    expect(approvals(minute)).toMatchObject([
      { k: 'asked', effect: { kind: 'grant', host: 'http://shop.example:80' } },
      { ...by, decision: 'allow', option: 'session' },
      { k: 'started' },
      { k: 'asked', effect: { kind: 'grant', host: 'http://shop.example:81' } },
      { ...by, decision: 'deny' },
    ]);
    const [id = ''] = minute.sessions;
    expect((await minute.svc(['new', 'capsule', 'asker', '--from', id])).code).toBe(0);
    const made = readFileSync(join(minute.folder, 'asker', 'svc.yaml'), 'utf8');
    expect(made).toContain('network: { allow: ["http://shop.example"] }');
    expect(await minute.svc(['run', '--replay', id])).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await minute.svc(['trace', 'show', id, '--grants']);
    expect(stdout).toMatch(/^granted while it ran:\n {2}"http:\/\/shop\.example:80" from then on, by terminal at /m);
  }, 120_000);

  it('answers one command alone once a person grants it once, and the next one if the first had given up', async (context) => {
    const twice = 'curl -sS http://shop.example/a; curl -sS http://shop.example/b';
    const gives = 'curl -sS -m 1 http://late.example/c';
    const minute = await fresh(context, twice, gives, gives, gives);
    const terminal = start(minute);
    await answers(terminal, 'http://shop.example:80', 'y\r');
    await terminal.shows(/to which a command can send/);
    await terminal.shows(/"http:\/\/late\.example:80"/);
    await terminal.shows(/curl: \(28\)/);
    await answers(terminal, 'http://late.example:80', 'y\r');
    const isAsked = (): boolean => approvals(minute).filter(({ k }) => k === 'asked').length === 3;
    await expect.poll(isAsked, { timeout: 30_000 }).toBe(true);
    await answers(terminal, 'http://late.example:80', 'n\r');
    expect(await terminal.ended).toBe(0);
    const [first, gaveUp, next, last] = minute.results;
    const told = (host: string): string =>
      `[a person has granted http://${host}:80 to this command, or to the next one if this one did not wait]`;
    expect(first).toContain('stdout:\nfrom shop.example\nfrom shop.example\n');
    expect(first).toContain(told('shop.example'));
    expect(gaveUp).toMatch(/^exit code: 28$/m);
    expect(gaveUp).toContain(told('late.example'));
    expect(terminal.terminal.rows.join('\n')).toContain('[a person has granted http://late.example:80 to this');
    expect(next).toContain('stdout:\nfrom late.example\n');
    expect(last).toContain('[http://late.example:80 stays refused: a person denied this call]');
    expect(asked).toHaveLength(3);
    const [id = ''] = minute.sessions;
    expect(await minute.svc(['run', '--replay', id])).toMatchObject({ code: 0, stderr: '' });
  }, 120_000);

  it('becomes a question only if it is public, by the name that is reached', async (context) => {
    const places = [
      'localhost:1',
      '127.0.0.1:1',
      '[::1]:1',
      '[::ffff:7f00:1]:1',
      '2130706433:1',
      '10.0.0.1',
      '192.168.1.1:8080',
    ]
      .concat(['169.254.169.254', 'metadata.google.internal', 'printer.local', 'intranet', 'shop.example@10.0.0.1'])
      .map((place) => `curl -sS -m 20 -g 'http://${place}/'`)
      .join('; ');
    const minute = await fresh(
      context,
      `${places}; curl -sS -m 20 http://sh\u043ep.example; curl -sS http://good.example:x@SHOP.example./a`,
    );
    const terminal = start(minute);
    await answers(terminal, 'http://xn--shp-ted.example:80', 'n\r');
    await answers(terminal, 'http://shop.example:80', 'y\r');
    expect(await terminal.ended).toBe(0);
    expect(asked).toEqual(['http://shop.example/a']);
    expect(approvals(minute).filter(({ k }) => k === 'asked')).toHaveLength(2);
    expect(terminal.terminal.rows.join('\n')).toContain('W-APR-004');
  }, 120_000);

  it('waits for its turn, and makes no question once the task is canceled', async (context) => {
    const minute = await fresh(context, 'for n in 1 2 3; do curl -sS http://shop$n.example/ & done; wait');
    const terminal = start(minute);
    await terminal.shows(/^grant it\? y for this or the next command/);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const [open] = approvals(minute);
    terminal.type('\u0003');
    expect(await terminal.ended).toBe(1);
    expect(approvals(minute)).toMatchObject([
      { k: 'asked' },
      { k: 'settled', id: open?.['id'], decision: 'canceled', by: 'task' },
    ]);
    expect(asked).toEqual([]);
    const [id = ''] = minute.sessions;
    expect(await minute.svc(['run', '--replay', id])).toMatchObject({ code: 0, stderr: '' });
  }, 120_000);

  it('becomes a question again in the session that --continue begins', async (context) => {
    const minute = await fresh(context);
    await minute.plays(calls('sh', { command: asks }), says('First.'), calls('sh', { command: asks }, 'c2'));
    const terminal = start(minute);
    await answers(terminal, 'http://shop.example:80', 's\r');
    expect(await terminal.ended).toBe(0);
    const again = start(minute, ['--continue', 'and again']);
    await again.shows(/^grant it\? y for this or the next command/);
    again.child.kill('SIGKILL');
    expect(asked).toHaveLength(1);
  }, 120_000);
});
