import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { ContextId, DelegationId, SessionId } from '@svc/protocol/ids.ts';
import type { Completion } from '@svc/protocol/completion.ts';
import { reportCompletion } from './report-to-spawner.ts';
import type { SpawnerHandle } from '@svc/protocol/spawner-handle.ts';

const completion: Completion = {
  delegation_id: 'dlg_1' as DelegationId,
  capsule_name: 'worker',
  capsule_version: '1.2.0',
  session_id: 'ses_child',
  status: 'ok',
  result_path: 'out/result.txt',
  workdir: '/work/child',
  duration_ms: 12,
};

const text =
  '{"delegation_id":"dlg_1","capsule_name":"worker","capsule_version":"1.2.0","session_id":"ses_child","status":"ok",' +
  '"result_path":"out/result.txt","workdir":"/work/child","duration_ms":12}';

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Received {
  readonly request: IncomingMessage;
  readonly body: unknown;
  /** What `completion.json` held at that moment. */
  readonly record: unknown;
}

/** Reports to a parent that answers so. */
async function report(
  answer: (response: ServerResponse) => void,
  extras: { token?: string; failWrites?: boolean; isEndedByParent?: () => boolean } = {},
): Promise<{ received: Received[]; records: unknown[]; warnings: string[] }> {
  const received: Received[] = [];
  const records: unknown[] = [];
  const warnings: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      received.push({ request, body, record: records.at(-1) });
      answer(response);
    });
  });
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const spawner: SpawnerHandle = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    session_id: 'ses_parent' as SessionId,
    context_id: 'ctx_made_here' as ContextId,
    trust: 'untrusted',
    delegation_id: 'dlg_1' as DelegationId,
  };
  await reportCompletion({
    spawner,
    completion,
    messageId: 'm1',
    isParentThere: () => true,
    listenerToken: extras.token === undefined ? null : new Secret(extras.token),
    isEndedByParent: extras.isEndedByParent ?? (() => false),
    write: (written) => {
      if (extras.failWrites === true) return 'the disk is full';
      records.push(JSON.parse(written));
      return null;
    },
    warn: (line) => warnings.push(line),
  });
  return { received, records, warnings };
}

function taskWith(state: string, message?: string): (response: ServerResponse) => void {
  return (response) => {
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { id: 'tsk_1', status: { state, message } } }));
  };
}

const unsettled = { ...completion, reported_by: 'child', delivered: false };

describe('a child that ends', () => {
  it('posts one message/send with the completion as its text [D2-COMPL-01, D2-COMPL-02, D2-COMPL-03, D2-COMPL-19, D2-COMPL-20]', async () => {
    const { received } = await report(taskWith('submitted'));
    expect(received).toHaveLength(1);
    expect(received[0]?.request.method).toBe('POST');
    expect(received[0]?.request.url).toBe('/');
    expect(received[0]?.body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message: { messageId: 'm1', role: 'user', parts: [{ text }], contextId: 'ctx_made_here' } },
    });
  });

  it('says by headers what it is', async () => {
    const { received } = await report(taskWith('submitted'));
    expect(received[0]?.request.headers).toMatchObject({
      'content-type': 'application/json',
      'x-svc-task-origin': 'completion',
      'x-svc-task-trust': 'untrusted',
      'x-svc-delegation-id': 'dlg_1',
      'x-svc-completion-session': 'ses_parent',
    });
    expect(received[0]?.request.headers).not.toHaveProperty('authorization');
  });

  it('presents the token of the listener where it holds one', async () => {
    const { received } = await report(taskWith('submitted'), { token: 'shared' });
    expect(received[0]?.request.headers.authorization).toBe('Bearer shared');
  });

  it('writes its record before it posts, and again after [D2-COMPL-10, D2-COMPL-11, D2-COMPL-30, D2-COMPL-31]', async () => {
    const { received, records, warnings } = await report(taskWith('submitted'));
    expect(received[0]?.record).toEqual(unsettled);
    expect(records).toEqual([unsettled, { ...unsettled, delivered: true }]);
    expect(warnings).toEqual([]);
  });

  it.each<[what: string, answer: (response: ServerResponse) => void, reason: string]>([
    [
      'has no room',
      taskWith('rejected', 'task rejected: capsule is busy'),
      'the parent refused it: task rejected: capsule is busy',
    ],
    [
      'refuses it',
      (response) => response.end('{"jsonrpc":"2.0","id":"m1","error":{"code":-32004,"message":"Not the one."}}'),
      'the parent refused it: Not the one.',
    ],
    ['wants a token', (response) => response.writeHead(401).end('{}'), 'the parent answered with status 401'],
    ['answers no JSON', (response) => response.end('hello'), 'the parent gave no answer that can be read'],
    ['answers no task', (response) => response.end('{"result":{}}'), 'the parent gave no answer that can be read'],
    [
      'hangs up',
      (response) => response.destroy(),
      'the parent cannot be reached: the connection was closed before everything had gone over it',
    ],
  ])(
    'records why a parent that %s has not got it [D2-COMPL-12, D2-COMPL-33, D2-COMPL-34]',
    async (_what, answer, reason) => {
      const { received, records, warnings } = await report(answer);
      expect(received).toHaveLength(1);
      expect(records).toEqual([unsettled, { ...unsettled, delivery_error: reason }]);
      expect(warnings).toEqual([`the completion of dlg_1 was not delivered: ${reason}`]);
    },
  );

  it('posts although it cannot write', async () => {
    const { received, warnings } = await report(taskWith('submitted'), { failWrites: true });
    expect(received).toHaveLength(1);
    expect(warnings).toEqual(['the completion cannot be recorded: the disk is full']);
  });

  it('says nothing and leaves the record alone when its parent has ended it', async () => {
    const { received, records, warnings } = await report(taskWith('submitted'), { isEndedByParent: () => true });
    expect({ received, records, warnings }).toEqual({ received: [], records: [], warnings: [] });
  });

  it('settles nothing when it fails because its parent ended it meanwhile', async () => {
    let isEnded = false;
    const { received, records, warnings } = await report(
      (response) => {
        isEnded = true;
        response.end('{"jsonrpc":"2.0","id":"m1","error":{"code":-32004,"message":"Not the one."}}');
      },
      { isEndedByParent: () => isEnded },
    );
    expect(received).toHaveLength(1);
    expect(records).toEqual([unsettled]);
    expect(warnings).toEqual([]);
  });
});
