import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { ComponentHost } from '../src/component-host.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, noGrants, testHost, toolCall } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

const session = { sessionId: 'ses_1', capsule: 'c', version: '1.0.0' };
let host: ComponentHost;

beforeAll(async () => {
  host = testHost(fixtureCache);
  await heardOf({});
}, compileTimeoutMs);

afterAll(() => host.close());

/** What the host hears of a guest that writes a line to stderr in each of two calls. */
async function heardOf(grants: { readonly tellsOutput?: boolean }): Promise<string> {
  const hook = host.open(await fixtureComponent('told-hook'), { ...noGrants, ...grants });
  let heard = '';
  const listener = { 'wasi:cli/output#write': (bytes: Uint8Array) => void (heard += Buffer.from(bytes).toString()) };
  for (const event of ['on-session-start', 'on-session-start']) {
    await hook.call(toolCall({}, { export: `svc:hook/lifecycle@0.1.0#${event}`, args: [session], host: listener }));
  }
  await hook.close();
  return heard;
}

describe('what a guest writes to its outputs', () => {
  it('reaches the session before its call returns, where the grants say so, and nobody else', async () => {
    expect(await heardOf({ tellsOutput: true })).toBe('1 on-session-start\n2 on-session-start\n');
    expect(await heardOf({})).toBe('');
  });
});
