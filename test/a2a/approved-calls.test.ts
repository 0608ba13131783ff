import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { describe, expect, it } from 'vitest';

import { calls, says, script } from '../support/scripted-turns.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { svc } from '../support/svc-process.ts';

const capsules = useStreamedCapsules();
const operator = 'the-token-of-the-operator';

const manifest = `capabilities: { shell: { allow: [touch] } }
approvals: { rules: [{ ask: { command: [touch, "**"] } }] }
${staysUp}`;

interface Asking {
  readonly made: string;
  readonly home: string;
  readonly clientOf: (name: string, scope: string) => Promise<Client>;
}

async function asking(binding: 'JSONRPC' | 'HTTP+JSON'): Promise<Asking> {
  const workspace = scriptCapsule({
    manifest,
    script: script(calls([['c1', 'touch', { command: 'pushed' }]]), says('Done.')),
  });
  const tokenOf = async (name: string, scope: string): Promise<string> =>
    scope === 'operator' ? operator : (await svc(workspace, ['token', 'add', name, '--scope', scope])).stdout.trim();
  // Somebody has to be there who could answer.
  await tokenOf('nobody', 'answer');
  const env = { SVC_CONTAINMENT_CEILING: 'sealed', SVC_LISTENER_TOKEN: operator };
  const capsule = await capsules.from(workspace, env);
  const clientOf = async (name: string, scope: string): Promise<Client> => {
    const token = await tokenOf(name, scope);
    const fetchImpl: typeof fetch = async (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('authorization', `Bearer ${token}`);
      return await fetch(url, { ...init, headers });
    };
    const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })];
    const factory = new ClientFactory({ transports, preferredTransports: [binding] });
    return await factory.createFromUrl(`http://${capsule.line.url}`);
  };
  return { made: join(capsule.line.workdir, 'pushed'), home: workspace.home, clientOf };
}

let sent = 0;
function message(parts: readonly object[], more: object = {}): SendMessageRequest {
  sent += 1;
  return SendMessageRequest.fromJSON({ message: { messageId: `c${sent}`, role: 'ROLE_USER', parts, ...more } });
}

async function sentTask(client: Client, asked: SendMessageRequest): Promise<Task> {
  const answer = await client.sendMessage(asked);
  if (!('status' in answer)) throw new Error('a message is no task');
  return answer;
}

const stateOf = ({ status }: Task): string => TaskState[status?.state ?? 0] ?? '';

async function refusal(answer: Promise<unknown>): Promise<string> {
  return await answer.then(
    () => 'accepted',
    (error: unknown) => String(error),
  );
}

function approvalIn({ status }: Task): Record<string, unknown> {
  const [text, data] = status?.message?.parts ?? [];
  expect(text?.content?.$case).toBe('text');
  if (data?.content?.$case !== 'data') throw new Error('the status has no data part');
  return data.content.value as Record<string, unknown>;
}

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('a call that waits for approval, over %s', (binding) => {
  it('runs once a data part allows it, and by no message beside it', async () => {
    const { made, home, clientOf } = await asking(binding);
    const anna = await clientOf('anna', 'read,send,answer');
    const asked = await sentTask(anna, message([{ text: 'Push.' }]));
    expect(stateOf(asked)).toBe('TASK_STATE_INPUT_REQUIRED');
    const approval = approvalIn(asked);
    expect(approval).toMatchObject({
      kind: 'approval',
      task_id: asked.id,
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      effect: { kind: 'command', argv: ['touch', 'pushed'] },
      options: ['once', 'session', 'manifest'],
    });
    const { id, digest } = approval;
    const allow = { id, digest, decision: 'allow' };
    const named = { taskId: asked.id, contextId: asked.contextId };
    const tried = [
      [{ text: 'yes' }],
      [{ text: JSON.stringify(allow) }],
      [{ data: { answer: 'allow' } }],
      [{ data: allow }, { text: 'yes' }],
      [{ data: { ...allow, digest: 'sha256:0' } }],
      [{ data: { ...allow, decision: 'maybe' } }],
      [{ data: { ...allow, id: 'apr_0_q1' } }],
      [{ data: { ...allow, option: 'always' } }],
    ];
    for (const parts of tried) expect(await refusal(anna.sendMessage(message(parts, named)))).not.toBe('accepted');
    // Who runs the capsule sees the task, and holds the token that children and tools may know.
    const other = await clientOf('other', 'operator');
    expect(await refusal(other.sendMessage(message([{ data: allow }], named)))).toMatch(/403|door token/);
    const sender = await clientOf('sender', 'read,send');
    expect(await refusal(sender.sendMessage(message([{ data: allow }], named)))).not.toBe('accepted');
    const stranger = await clientOf('stranger', 'read,send,answer');
    expect(await refusal(stranger.sendMessage(message([{ data: allow }], named)))).not.toBe('accepted');
    expect([existsSync(made), stateOf(await anna.getTask({ id: asked.id, tenant: '' }))]).toEqual([
      false,
      'TASK_STATE_INPUT_REQUIRED',
    ]);
    const answered = await sentTask(anna, message([{ data: { ...allow, option: 'manifest' } }], named));
    expect([stateOf(answered), existsSync(made)]).toEqual(['TASK_STATE_COMPLETED', true]);
    expect(await refusal(anna.sendMessage(message([{ data: { ...allow, decision: 'deny' } }], named)))).toContain(
      'settled before: allow by token:anna',
    );
    const store = join(home, '.svc', 'approvals');
    const [kept = ''] = readdirSync(store);
    expect(JSON.parse(readFileSync(join(store, kept), 'utf8'))).toMatchObject({ calls: [{ id, by: 'token:anna' }] });
  }, 120_000);

  it('does not run when a data part denies it', async () => {
    const { made, clientOf } = await asking(binding);
    const anna = await clientOf('anna', 'read,send,answer');
    const asked = await sentTask(anna, message([{ text: 'Push.' }]));
    const { id, digest } = approvalIn(asked);
    const deny = message([{ data: { id, digest, decision: 'deny', note: 'not today' } }], { taskId: asked.id });
    expect([stateOf(await sentTask(anna, deny)), existsSync(made)]).toEqual(['TASK_STATE_COMPLETED', false]);
  }, 120_000);
});
