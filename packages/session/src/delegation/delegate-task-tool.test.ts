import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { DispatchedCall } from '../tools/tool.ts';
import { Inventory } from '../tools/inventory.ts';
import type { DelegationId, SessionId } from '@svc/protocol/ids.ts';
import { createDelegateTaskTool } from './delegate-task-tool.ts';
import type { DelegationRequest, StartOutcome } from './delegations-deps.ts';

const session = 'ses_000102030405060708090a0b0c0d0e0f' as SessionId;
const started: StartOutcome = {
  kind: 'started',
  delegationId: 'dlg_1' as DelegationId,
  sessionId: session,
  childWorkdir: '.svc/children/worker-0001020304050607',
};
const fitting = { capsule: 'worker', version: '1.2.3', task: 'Count.' };

async function called(
  input: unknown,
  outcome: StartOutcome = started,
): Promise<{ call: DispatchedCall; asked: readonly DelegationRequest[] }> {
  const asked: DelegationRequest[] = [];
  const tool = createDelegateTaskTool(['worker', 'writer'], {
    start: async (request) => {
      asked.push(request);
      return outcome;
    },
  });
  const call = await new Inventory([tool], new FakeClock()).dispatch(
    { id: 'call_1', name: 'delegate-task', input },
    {
      taskId: 'tsk_1',
      place: 'tsk_1/1/m1/t1',
      settle: (look) => look(),
      signal: new AbortController().signal,
      emitText: () => {},
      emitThinking: () => {},
      requestInput: () => Promise.reject(new Error('nobody is asked')),
      record: () => true,
      judge: async () => ({ kind: 'proceed' }),
    },
  );
  return { call, asked };
}

describe('delegate-task', () => {
  it('takes exactly the capsules that may be spawned, an exact version and a task [D2-DELEG-04]', () => {
    const { inputSchema, kind, name } = createDelegateTaskTool(['worker', 'writer'], { start: async () => started });
    expect({ name, kind }).toEqual({ name: 'delegate-task', kind: 'runtime' });
    expect(inputSchema).toMatchObject({
      type: 'object',
      properties: {
        capsule: { type: 'string', enum: ['worker', 'writer'] },
        version: { type: 'string' },
        task: { type: 'string', minLength: 1 },
      },
      required: ['capsule', 'version', 'task'],
      additionalProperties: false,
    });
  });

  it.each([
    [{ ...fitting, capsule: 'other' }],
    [{ ...fitting, task: '' }],
    [{ ...fitting, version: '' }],
    [{ ...fitting, workdir: '/' }],
    [{ capsule: 'worker', version: '1.2.3' }],
    [{ capsule: 'worker', task: 'Count.' }],
  ])('asks for nothing with the arguments %j', async (input) => {
    const { call, asked } = await called(input);
    expect(call).toMatchObject({ isError: true, reached: false });
    expect(asked).toEqual([]);
  });

  it('answers with the delegation that was started [D2-DELEG-06]', async () => {
    const { call, asked } = await called(fitting);
    expect(asked).toEqual([fitting]);
    expect(call).toMatchObject({ isError: false, exitCode: null, truncated: false });
    expect(call.unfenced).toBe(
      '{"delegation_id":"dlg_1","session_id":"ses_000102030405060708090a0b0c0d0e0f","capsule":"worker","version":"1.2.3","status":"started","child_workdir":".svc/children/worker-0001020304050607"}',
    );
  });

  it('says why a child has no output [D2-DELEG-12]', async () => {
    const failed = { kind: 'failed', delegationId: 'dlg_1' as DelegationId, reason: 'it rejected its task' } as const;
    const { call } = await called(fitting, { ...failed, sessionId: session });
    expect(call.isError).toBe(true);
    expect(call.unfenced).toBe(
      '{"delegation_id":"dlg_1","session_id":"ses_000102030405060708090a0b0c0d0e0f","capsule":"worker","version":"1.2.3","status":"failed","output":"it rejected its task"}',
    );
    const { call: early } = await called(fitting, { ...failed, sessionId: null });
    expect(JSON.parse(early.unfenced)).toMatchObject({ session_id: '', status: 'failed' });
  });

  it('repeats a refusal as the plain sentence that it is [D2-DELEG-13]', async () => {
    const sentence = 'capabilities.shell.allow: the child declares "sh", which its parent does not hold';
    const { call } = await called(fitting, { kind: 'refused', sentence });
    expect(call).toMatchObject({ content: sentence, fenceSource: null, isError: true });
  });
});
