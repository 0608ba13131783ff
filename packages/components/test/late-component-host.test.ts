import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ComponentHost } from '../src/component-host.ts';
import { createLateComponentHost } from '../src/late-component-host.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, faultOf, noGrants, order, packageRoot, toolCall } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

let host: ComponentHost;
beforeEach(() => {
  host = createLateComponentHost({ cacheDir: fixtureCache, packageRoot });
});
afterEach(async () => {
  await host.close();
});

describe('a host that is read when a component is first used', { timeout: compileTimeoutMs }, () => {
  it('answers calls in their order, warmed or not', async () => {
    const warmed = host.open(await fixtureComponent('probe-tool'), noGrants);
    const cold = host.open(await fixtureComponent('probe-tool'), noGrants);
    warmed.warm();
    const answered: string[] = [];
    const ask = async (name: string): Promise<void> => {
      await order(name.startsWith('cold') ? cold : warmed, { op: 'echo' });
      answered.push(name);
    };
    await Promise.all([ask('warmed 1'), ask('warmed 2')]);
    await Promise.all([ask('cold 1'), ask('cold 2')]);
    expect(answered).toEqual(['warmed 1', 'warmed 2', 'cold 1', 'cold 2']);
  });

  it('cancels a call whose signal was aborted while it was read', async () => {
    const tool = host.open(await fixtureComponent('probe-tool'), noGrants);
    const stop = new AbortController();
    const call = tool.call(toolCall({ op: 'echo' }, { signal: stop.signal }));
    stop.abort();
    expect((await faultOf(call)).kind).toBe('canceled');
  });

  it('starts nothing for a component that is closed before it was used', async () => {
    const source = await fixtureComponent('probe-tool');
    const reads: string[] = [];
    const tool = host.open(
      {
        ...source,
        wasm: () => {
          reads.push('wasm');
          throw new Error('nobody reads it');
        },
      },
      noGrants,
    );
    await tool.close();
    tool.warm();
    expect((await faultOf(tool.call(toolCall({ op: 'echo' })))).kind).toBe('canceled');
    expect(reads).toEqual([]);
  });

  it('ends a call that runs when it is closed', async () => {
    const tool = host.open(await fixtureComponent('probe-tool'), noGrants);
    let close = Promise.resolve();
    const running = order(
      tool,
      { op: 'loop', first: 'running' },
      { host: { 'svc:text/chunks@0.1.0#emit-chunk': () => void (close = host.close()) } },
    );
    expect((await faultOf(running)).kind).toBe('canceled');
    await close;
  });
});
