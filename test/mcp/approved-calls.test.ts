import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import {
  ask as askCapsule,
  type RpcAnswer,
  startCapsule,
  svc,
  type RunLine,
  type SvcProcess,
} from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const running: SvcProcess[] = [];

afterEach(async () => {
  for (const process of running.splice(0)) {
    process.child.kill('SIGKILL');
    await process.ended;
  }
});
const env = { SVC_CONTAINMENT_CEILING: 'sealed' };
const revisions = ['2026-07-28', '2025-11-25'] as const;
type Revision = (typeof revisions)[number];
type Json = { readonly result?: Readonly<Record<string, unknown>> };

/** What the user of a client says to a form; `null` shows it to nobody, and so does a client without forms. */
type Answers = (message: string, schema: unknown) => { action: 'accept' | 'decline' | 'cancel'; content?: object };

interface Started {
  readonly workspace: Workspace;
  readonly line: RunLine;
  readonly call: (scope: string, revision: Revision, answers?: Answers) => Promise<string>;
  readonly tokenOf: (scope: string) => Promise<string>;
}

async function started(answer: string, ...files: readonly string[]): Promise<Started> {
  const workspace = capsule({
    manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
capabilities: { shell: { allow: [touch] } }
approvals: { answer: [${answer}], rules: [{ ask: { command: [touch, "**"] } }] }
`,
    script: script(...files.map((file, at) => calls([[`c${at}`, 'touch', { command: file }]])), says('Done.')),
  });
  const tokens = new Map([['operator', 'of-the-operator']]);
  const tokenOf = async (scope: string): Promise<string> => {
    const token =
      tokens.get(scope) ??
      (await svc(workspace, ['token', 'add', scope.replaceAll(',', '-'), '--scope', scope])).stdout.trim();
    tokens.set(scope, token);
    return token;
  };
  // It has to be there before a call is judged: without it, nobody could answer.
  await tokenOf('read,send,answer');
  const { process, line } = await startCapsule(workspace, [], {
    env: { ...env, SVC_LISTENER_TOKEN: 'of-the-operator' },
  });
  running.push(process);
  const call: Started['call'] = async (scope, revision, answers) => {
    const token = await tokenOf(scope);
    const client = new Client(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode: revision === '2026-07-28' ? 'auto' : 'legacy' },
        capabilities: answers === undefined ? {} : { elicitation: { form: {} } },
      },
    );
    if (answers !== undefined) {
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        const schema = 'requestedSchema' in params ? params.requestedSchema : null;
        return answers(params.message, schema) as never;
      });
    }
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://${line.url}/mcp`), { requestInit }));
    onTestFinished(async () => await client.close());
    const [tool] = (await client.listTools()).tools;
    const { content } = (await client.callTool({ name: tool?.name ?? '', arguments: { task: 'Push.' } })) as {
      content: { text?: string }[];
    };
    return content.map(({ text = '' }) => text).join('\n');
  };
  return { workspace, line, call, tokenOf };
}

function settled({ workspace, line }: Started): readonly string[] {
  const path = join(workspace.folder, '.svc', 'sessions', line.session_id, 'approvals.jsonl');
  const records = existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  return records
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter(({ k }) => k === 'settled')
    .map(({ decision, option = '', by }) => `${decision} ${option} ${by}`);
}

describe.each(revisions)('a client of the revision %s', (revision) => {
  it('shows its user the call in a form, and the answer settles it', async () => {
    const session = await started('mcp, terminal', "'a\u202Eb'");
    const seen: unknown[] = [];
    const said = await session.call('read,send,answer', revision, (message, schema) => {
      seen.push(message, schema);
      return { action: 'accept', content: { decision: 'once' } };
    });
    expect(said).toContain('Done.');
    expect(existsSync(join(session.line.workdir, 'a\u202Eb'))).toBe(true);
    expect(seen).toEqual([
      expect.stringMatching(
        /^demo wants to run this, and approvals\.rules\[0\] asks you:\n {2}"touch" "a\\u\{202e\}b"\n {2}cwd: "\."\nsvc approve apr_\w+ answers it too$/,
      ),
      {
        type: 'object',
        properties: {
          decision: {
            type: 'string',
            title: 'Run it?',
            oneOf: [
              { const: 'once', title: 'Run it once' },
              { const: 'session', title: 'Run the same call for the rest of the session' },
              { const: 'manifest', title: 'Run the same call in every session of this manifest' },
              { const: 'deny', title: 'Do not run it' },
            ],
          },
        },
        required: ['decision'],
      },
    ]);
    expect(settled(session)).toEqual(['allow once token:read-send-answer']);
  }, 60_000);

  it('allows the same call for the session, and is asked no second time', async () => {
    const session = await started('mcp', 'a', 'a');
    let asked = 0;
    await session.call('read,send,answer', revision, () => {
      asked += 1;
      return { action: 'accept', content: { decision: 'session' } };
    });
    expect([asked, settled(session)]).toEqual([1, ['allow session token:read-send-answer']]);
  }, 60_000);

  it.each(['decline', 'cancel', 'deny'] as const)(
    'denies the call where its user says %s, and the task goes on',
    async (no) => {
      const session = await started('mcp', 'a');
      const said = await session.call('read,send,answer', revision, () =>
        no === 'deny' ? { action: 'accept', content: { decision: 'deny' } } : { action: no },
      );
      expect(said).toContain('Done.');
      expect(existsSync(join(session.line.workdir, 'a'))).toBe(false);
      expect(settled(session)).toEqual(['deny  token:read-send-answer']);
    },
    60_000,
  );

  it.each([
    ['mcp', 'operator'],
    ['mcp', 'read,send'],
    ['terminal, door, acp', 'read,send,answer'],
  ])(
    `gets no form where answer has %s and its token is %s`,
    async (answer, scope) => {
      const session = await started(answer, 'a');
      let asked = 0;
      const said = await session.call(scope, revision, () => {
        asked += 1;
        return { action: 'accept', content: { decision: 'once' } };
      });
      expect([asked, said]).toEqual([0, expect.stringContaining('approve this call? ["touch","a"]')]);
      expect(existsSync(join(session.line.workdir, 'a'))).toBe(false);
      expect(settled(session)).toEqual([]);
    },
    60_000,
  );
});

it('a client that follows its task by itself gets the form with it, and only who may approve settles it', async () => {
  const session = await started('mcp', 'a');
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {
      elicitation: { form: {} },
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    },
  };
  const ask = async (scope: string, method: string, params: Readonly<Record<string, unknown>>): Promise<Json> => {
    const named = String(params['taskId'] ?? params['name']);
    const response = await fetch(`http://${session.line.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        authorization: `Bearer ${await session.tokenOf(scope)}`,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': named,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    });
    return (await response.json()) as Json;
  };
  const name = 'demo';
  const { result } = await ask('read,send,answer', 'tools/call', { name, arguments: { task: 'Push.' } });
  const taskId = String(result?.['taskId']);
  const requests = async (scope: string): Promise<Record<string, unknown>> =>
    ((await ask(scope, 'tasks/get', { taskId })).result?.['inputRequests'] ?? {}) as Record<string, unknown>;
  await expect.poll(async () => Object.keys(await requests('read,send,answer')), { timeout: 30_000 }).toHaveLength(1);
  const [key = ''] = Object.keys(await requests('read,send,answer'));
  expect(await requests('operator')).toEqual({});
  const update = async (scope: string, content: object): Promise<Json> =>
    await ask(scope, 'tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content } } });
  await update('operator', { decision: 'once' });
  await update('read,send,answer', { decision: 'always' });
  await update('read,send,answer', { answer: 'once' });
  expect((await update('read,send', { decision: 'once' })).result).toBe(undefined);
  // Neither another door nor the key of the session answers where the manifest names mcp alone.
  const token = await session.tokenOf('read,send,answer');
  const rpc = async (method: string, params: object): Promise<RpcAnswer> =>
    await askCapsule(session.line.url, method, params, token);
  const { result: listed } = await rpc('approvals/list', {});
  const [open] = (listed as { approvals: { id: string; digest: string }[] }).approvals;
  const allow = { id: open?.id, digest: open?.digest, decision: 'allow' };
  const names = 'elsewhere: approvals.answer of its manifest names mcp';
  expect(await rpc('approvals/answer', allow)).toMatchObject({
    error: { code: -32_052, message: `Approval is answered ${names}`, data: { answer: ['mcp'] } },
  });
  const { code, stderr } = await svc(session.workspace, ['approve', '--allow']);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`nothing was answered: Approval is answered ${names}`)]);
  expect(settled(session)).toEqual([]);
  await update('read,send,answer', { decision: 'once' });
  await expect.poll(() => existsSync(join(session.line.workdir, 'a')), { timeout: 30_000 }).toBe(true);
  await update('read,send,answer', { decision: 'deny' });
  expect(settled(session)).toEqual(['allow once token:read-send-answer']);
}, 60_000);
