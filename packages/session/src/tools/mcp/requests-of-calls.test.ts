import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { heldRequest } from '@svc/kit/keys/held-request.ts';
import type { RequestJudge, RequestVerdict } from '@svc/kit/keys/bound-host.ts';
import { FakeLauncher, FakeProcess } from '../../../../../test/support/fake-launcher.ts';
import { echo, passed, serverOver, unlike } from '../../../test/tools/played-server.ts';
import { recordingContext } from '../../../test/tools/tool-context.ts';
import { CallTime } from './call-time.ts';
import { createMcpTools } from './mcp-tools.ts';

const request = heldRequest({ origin: 'https://api.test', method: 'POST', target: '/', headers: [] }, Buffer.from('x'));
const held = new AbortController().signal;

describe('a request of an MCP server on this machine', () => {
  it('belongs to the call that the server works on, and goes nowhere outside of a call and where two meet', async () => {
    const seen: unknown[] = [];
    const launcher = new FakeLauncher(
      () =>
        new FakeProcess(
          unlike(({ id }, process) => {
            void judge(launcher).then((verdict) => {
              seen.push(verdict);
              process.write({ id, result: { content: [{ type: 'text', text: verdict.kind }] } });
            });
          }),
        ),
    );
    const server = serverOver(launcher, { asksRequests: true });
    const [tool] = createMcpTools({ name: 'notes', description: '', server, listed: [echo], names: new Map() });
    const asked: string[] = [];
    const requests = {
      asks: (rule: string) => rule === 'approvals.rules[0]',
      ask: async ({ target }: typeof request) => {
        asked.push(target);
        return { kind: 'proceed' } as const;
      },
      open: () => null,
      left: () => {},
    };
    const called = async (): Promise<unknown> => await tool?.call({}, { ...recordingContext(), requests });
    expect(await called()).toEqual(passed('proceed'));
    expect(asked).toEqual(['/']);
    expect(await judge(launcher)).toEqual({
      kind: 'refused',
      reason: 'needs a person to approve it, and no call of its server is under way',
    });
    expect([judgeOf(launcher).asks('approvals.rules[0]'), judgeOf(launcher).asks('approvals.default')]).toEqual([
      true,
      true,
    ]);
    await Promise.all([called(), called()]);
    expect(seen.slice(1)).toContainEqual({
      kind: 'refused',
      reason: 'needs a person to approve it, and several calls of its server are under way',
    });
    await server.close();
  });

  it('has nobody to ask in a session without such rules', async () => {
    const launcher = new FakeLauncher(
      () => new FakeProcess(unlike(({ id }, process) => process.write({ id, result: {} }))),
    );
    const server = serverOver(launcher);
    const [tool] = createMcpTools({ name: 'notes', description: '', server, listed: [echo], names: new Map() });
    await tool?.call({}, recordingContext());
    expect(launcher.requests[0]).not.toHaveProperty('requests');
    await server.close();
  });
});

it('the time of a call stands still while a person is asked, and runs on then', async () => {
  const late = new Error('late');
  const time = new CallTime({ signal: held, timeoutMs: 20, late: () => late });
  await time.during(async () => {
    time.asks(true);
    await delay(60);
    expect(time.isOver).toBe(false);
    time.asks(false);
    await once(time.signal, 'abort');
  });
  expect(time.signal.reason).toBe(late);
});

function judgeOf({ requests: [launched] }: FakeLauncher): RequestJudge {
  if (launched?.requests === undefined) throw new Error('nobody judges its requests');
  return launched.requests;
}

async function judge(launcher: FakeLauncher): Promise<RequestVerdict> {
  return await judgeOf(launcher).judge(request, held);
}
