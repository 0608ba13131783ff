import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Component } from '../src/component.ts';
import type { ComponentHost } from '../src/component-host.ts';
import { refusedFileFunction } from '../src/exchange.ts';
import { componentProcesses } from '../../../test/support/component-processes.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import {
  compileTimeoutMs,
  faultOf,
  noGrants,
  order,
  temporaryFolder,
  testHost,
  toolCall,
} from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

const workdir = temporaryFolder();
let host: ComponentHost;
let tool: Component;

beforeAll(async () => {
  host = testHost(fixtureCache);
  tool = host.open(await fixtureComponent('probe-tool'), { ...noGrants, maxMemoryBytes: 64 * 1024 * 1024 });
  const files = host.open(await fixtureComponent('files-tool'), noGrants);
  await Promise.all([order(tool, { op: 'echo' }), order(files, { op: 'environment' })]);
}, compileTimeoutMs);

afterAll(async () => {
  await host.close();
  workdir.remove();
});

/** Aborts once the guest is known to be running: its first chunk has arrived. */
function abortOnChunk(): { readonly controller: AbortController; readonly host: Record<string, () => void> } {
  const controller = new AbortController();
  return { controller, host: { 'svc:text/chunks@0.1.0#emit-chunk': () => controller.abort() } };
}

describe('a fault', () => {
  it('ends a busy loop when the call is canceled, and the next call gets a fresh instance', async () => {
    const { controller, host } = abortOnChunk();
    const call = order(tool, { op: 'loop', first: 'running' }, { host, signal: controller.signal });
    expect((await faultOf(call)).kind).toBe('canceled');
    expect(await order(tool, { op: 'count' })).toBe('1');
  });

  it('ends a call past its deadline', async () => {
    const fault = await faultOf(order(tool, { op: 'loop' }, { deadlineMs: 100 }));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'deadline',
      message: 'the component did not return within 100 ms',
    });
  });

  it('does not count the time a person takes to answer', async () => {
    const host = {
      'svc:task/task@0.1.0#request-input': async () =>
        new Promise((resolve) => setTimeout(() => resolve('late'), 2_000)),
    };
    await order(tool, { op: 'echo' });
    expect(await order(tool, { op: 'ask', prompt: 'when?' }, { host, deadlineMs: 1_500 })).toBe('answered: late');
  });

  it('ends a call that waits for an answer when it is canceled', async () => {
    const controller = new AbortController();
    const host = {
      'svc:task/task@0.1.0#request-input': async () => {
        controller.abort();
        return new Promise<string>(() => {});
      },
    };
    const call = order(tool, { op: 'ask', prompt: 'never?' }, { host, signal: controller.signal });
    expect((await faultOf(call)).kind).toBe('canceled');
  });

  it('says that memory ran out', async () => {
    expect((await faultOf(order(tool, { op: 'allocate', megabytes: 200 }))).kind).toBe('memory');
    expect(await order(tool, { op: 'allocate', megabytes: 8 })).toBe('holds 8');
  });

  it('ends a recursion without an end', async () => {
    expect((await faultOf(order(tool, { op: 'recurse' }))).kind).toBe('trap');
  });

  it('ends a call that gives more than a message may hold', async () => {
    const large = host.open(await fixtureComponent('probe-tool'), { ...noGrants, maxMemoryBytes: 512 * 1024 * 1024 });
    const fault = await faultOf(order(large, { op: 'large', megabytes: 40 }));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'trap',
      message:
        'the component gave a value of more than 64 MiB, in which a character is two bytes: give a part of it, or write it to a file',
    });
    await large.close();
  });

  it.each([
    ['a string', 'Hello', 'expected object'],
    ['nothing', null, 'expected object'],
    ['a status that there is not', { status: 'done', content: '', truncated: false }, 'unknown enum case: done'],
    ['no content', { status: 'passed', truncated: false }, 'expected string, found undefined'],
  ])('says what a tool has to return where it returned %s', async (_what, value, found) => {
    const fault = await faultOf(order(tool, { op: 'bare', value }));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'trap',
      message:
        `it gave a value of another type than its interface has (${found}): return what passed(…) or failed(…) of ` +
        "@svc/guest/tool gives: status 'passed' or 'failed', content a text, truncated true or false",
    });
  });

  it.each([
    ['not "found"\\ here\nor there: ü \u{1f600}', 'it threw an error: not "found"\\ here\nor there: ü \u{1f600}'],
    ['', 'it threw something without a message'],
  ])('says what the guest threw: %j', async (message, said) => {
    const fault = await faultOf(order(tool, { op: 'fail', message }));
    expect({ kind: fault.kind, message: fault.message }).toEqual({ kind: 'trap', message: said });
  });

  it('has what the guest wrote itself behind it', async () => {
    const fault = await faultOf(order(tool, { op: 'complain', message: 'no such shop' }));
    expect(fault.message).toBe('it threw an error: no such shop\nabout to fail');
  });

  it('holds back a guest that emits faster than its caller reads', async () => {
    let heard = 0;
    const host = { 'svc:text/chunks@0.1.0#emit-chunk': (text: string) => (heard += text.length) };
    await order(tool, { op: 'flood', count: 400, size: 100_000 }, { host });
    expect(heard).toBe(40_000_000);
  });

  it('ends a call that was canceled in the queue, and the others go on', async () => {
    const controller = new AbortController();
    const first = order(tool, { op: 'work', rounds: 300_000 });
    const second = faultOf(order(tool, { op: 'echo' }, { signal: controller.signal }));
    const third = order(tool, { op: 'echo', n: 3 });
    controller.abort();
    expect((await second).kind).toBe('canceled');
    expect(await first).toMatch(/^-?\d+$/);
    expect(await third).toBe('{"op":"echo","n":3}');
  });

  it('meets a call at once while its component is still being compiled', async () => {
    const folder = temporaryFolder();
    const cold = testHost(folder.path);
    const component = cold.open(await fixtureComponent('probe-tool'), noGrants);
    const controller = new AbortController();
    const canceled = faultOf(order(component, { op: 'echo' }, { signal: controller.signal }));
    const closed = faultOf(order(component, { op: 'echo' }));
    controller.abort();
    expect((await canceled).kind).toBe('canceled');
    await component.close();
    expect((await closed).kind).toBe('canceled');
    await cold.close();
    folder.remove();
  });

  it('meets a call whose signal was aborted before', async () => {
    expect((await faultOf(tool.call(toolCall({ op: 'echo' }, { signal: AbortSignal.abort() })))).kind).toBe('canceled');
  });

  it('meets an export that the component does not have', async () => {
    const fault = await faultOf(tool.call(toolCall({}, { export: 'svc:hook/lifecycle@0.1.0#on-stage' })));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'unavailable',
      message: 'it does not export svc:hook/lifecycle@0.1.0#on-stage',
    });
  });

  it('meets every call that is open when the component is closed, and every one after', async () => {
    const closing = host.open(await fixtureComponent('probe-tool'), noGrants);
    await order(closing, { op: 'echo' });
    const calls = [order(closing, { op: 'loop' }), order(closing, { op: 'echo' })].map((call) => faultOf(call));
    await closing.close();
    expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(['canceled', 'canceled']);
    expect((await faultOf(order(closing, { op: 'echo' }))).kind).toBe('canceled');
  });
});

describe('the surroundings of a component', () => {
  it('have the directory and the variables of the session', async () => {
    writeFileSync(join(workdir.path, 'note'), 'a note');
    const preopens = [{ guestPath: '/', hostPath: workdir.path, writable: true }];
    const files = host.open(await fixtureComponent('files-tool'), { ...noGrants, preopens, env: { GIVEN: 'yes' } });
    expect(await order(files, { op: 'read', path: 'note' })).toBe('a note');
    expect(await order(files, { op: 'write', path: 'made', text: 'x' })).toBe('written');
    expect(await order(files, { op: 'list', path: '.' })).toBe('made note');
    expect(await order(files, { op: 'read', path: '../etc/passwd' })).toBe('not-permitted');
    expect(await order(files, { op: 'environment' })).toBe('[["GIVEN","yes"]]');
    expect(await order(files, { op: 'sleep', ms: 20 })).toBe('true');
    await files.close();
  });

  it('end a guest that exits', async () => {
    const files = host.open(await fixtureComponent('files-tool'), noGrants);
    const fault = await faultOf(order(files, { op: 'exit', ok: true }));
    expect(fault.kind).toBe('trap');
    expect(fault.message).toContain('the component called exit (success)');
    await files.close();
  });

  it('close with the instance, its open files too', async () => {
    const preopens = [{ guestPath: '/', hostPath: workdir.path, writable: true }];
    const files = host.open(await fixtureComponent('files-tool'), { ...noGrants, preopens });
    await order(files, { op: 'list', path: '.' });
    expect(await order(files, { op: 'hold', path: 'note', count: 100 })).toBe('holds 100');
    const holding = (): number[] => componentProcesses().filter((pid) => readdirSync(`/proc/${pid}/fd`).length > 100);
    await expect.poll(holding).toHaveLength(1);
    await files.close();
    await expect.poll(holding).toEqual([]);
  });

  it('cannot be made of a directory that is not there', async () => {
    const preopens = [{ guestPath: '/', hostPath: join(workdir.path, 'missing'), writable: true }];
    const files = host.open(await fixtureComponent('files-tool'), { ...noGrants, preopens });
    expect((await faultOf(order(files, { op: 'echo' }))).kind).toBe('unavailable');
    await files.close();
  });

  it('report a refused path, and at most as much of it as a path may be long', async () => {
    const preopens = [{ guestPath: '/', hostPath: workdir.path, writable: false }];
    const files = host.open(await fixtureComponent('files-tool'), { ...noGrants, preopens });
    const told: unknown[] = [];
    const refused = { [refusedFileFunction]: (path: string, code: unknown) => told.push([path.length, code]) };
    await order(files, { op: 'read', path: '/'.repeat(5_000_000) }, { host: refused });
    expect(told).toEqual([[4_096, 'not-permitted']]);
    await files.close();
  });
});
