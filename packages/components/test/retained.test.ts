import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Component } from '../src/component.ts';
import type { ComponentHost } from '../src/component-host.ts';
import { componentProcesses } from '../../../test/support/component-processes.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, faultOf, noGrants, order, temporaryFolder, testHost } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

const granted = 32 * 1024 * 1024;
/** The most memory of the process: the engine, the script that links a component and its code, and what is granted. */
const maxResidentMegabytes = 220;
const workdir = temporaryFolder();
let host: ComponentHost;
let tool: Component;

beforeAll(async () => {
  host = testHost(fixtureCache);
  const preopens = [{ guestPath: '/', hostPath: workdir.path, writable: true }];
  tool = host.open(await fixtureComponent('grow-tool'), { ...noGrants, preopens, maxMemoryBytes: granted });
  await order(tool, { op: 'echo' });
}, compileTimeoutMs);

afterAll(async () => {
  await host.close();
  workdir.remove();
});

function residentMegabytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

describe('the host', { timeout: compileTimeoutMs }, () => {
  it.each([
    ['values of one header', 4],
    ['small values of one header', 50],
    ['headers', 2_000],
    ['copies of headers', 4],
    ['bodies before their requests', 4],
    ['requests', 2_000],
    ['paths of requests', 50],
    ['options of requests', 2_000],
    ['timers', 2_000],
    ['outputs', 2_000],
  ])('counts against its memory: %s', async (op, every) => {
    let peak = 0;
    const look = (): void => {
      peak = Math.max(peak, ...componentProcesses().map(residentMegabytes));
    };
    const host = { 'svc:text/chunks@0.1.0#emit-chunk': look };
    const fault = await faultOf(order(tool, { op, rounds: 1_000_000, every }, { host, deadlineMs: 60_000 }));
    expect({ kind: fault.kind, message: fault.message }).toEqual({
      kind: 'memory',
      message: 'the component made the host keep more for it than its limit on memory allows',
    });
    expect(peak).toBeGreaterThan(30);
    expect(peak).toBeLessThan(maxResidentMegabytes);
    expect(await order(tool, { op: 'echo', still: 'here' })).toBe('{"still":"here"}');
  });

  it('counts against its memory: requests that are refused', async () => {
    // Each goes to the session and back.
    const small = host.open(await fixtureComponent('grow-tool'), { ...noGrants, maxMemoryBytes: granted / 4 });
    const fault = await faultOf(
      order(small, { op: 'requests that are refused', rounds: 1_000_000, every: 1_000_000 }, { deadlineMs: 100_000 }),
    );
    expect(fault.kind).toBe('memory');
    await small.close();
  });

  it('keeps at most 512 open directories and files for a component', async () => {
    const fault = await faultOf(order(tool, { op: 'directories', rounds: 1_000, every: 1_000 }));
    expect(fault.kind).toBe('trap');
    expect(await order(tool, { op: 'echo' })).toBe('{}');
  });
});
