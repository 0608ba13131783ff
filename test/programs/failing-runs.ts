/** The ways in which `svc -p` gives no answer, each with a capsule that fails so. */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { FakeProvider } from '@svc/testing/fake-provider.ts';
import { closedPort } from '../support/closed-port.ts';
import { type FakeReply, says } from '@svc/testing/fake-reply.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import type { RunResult } from '@svc/svc/run/script/run-result.ts';
import { type PipedEnd, type PipedOptions, pipedSvc } from '../support/piped-run.ts';
import { runsCommand, scriptCapsule, type ScriptCapsule } from '../support/script-capsule.ts';
import { asks, script } from '../support/scripted-turns.ts';
import type { Workspace } from '../support/workspace.ts';

/** A folder of a capsule that is gone after the test. */
function capsule(options?: ScriptCapsule): Workspace {
  const workspace = scriptCapsule(options);
  onTestFinished(() => workspace.remove());
  return workspace;
}

/** One run that gives no answer. */
interface Failure extends PipedOptions {
  readonly workspace: Workspace;
  /** `-p` and a task, unless it is about them. */
  readonly args?: readonly string[];
}

/** What a run without an answer says, and how it ends. */
export interface FailedRun {
  readonly name: string;
  readonly given: () => Promise<Failure> | Failure;
  readonly code: string;
  /** How its message begins. */
  readonly says: string | RegExp;
  readonly exit?: number;
  readonly retryable: boolean | null;
  readonly status?: RunResult['status'];
  readonly state?: RunResult['state'];
}

function asking(endpoint: string, { keys = '', rest = '' }: { keys?: string; rest?: string } = {}): Workspace {
  return capsule({
    files: {
      'svc.yaml': `name: demo
version: 1.2.3
inference:
  endpoint: ${endpoint}
  model: small-model
  driver: { artifact: svc-driver-openai, config: { max_retries: 0 } }
${keys}${rest}`,
    },
  });
}

async function provided(replies: readonly FakeReply[], keys = ''): Promise<Failure> {
  const provider: FakeProvider = await startFakeOpenAi(replies);
  onTestFinished(async () => await provider.close());
  return { workspace: asking(provider.endpoint, { keys }) };
}

function answered(status: number, retryable: boolean): FailedRun {
  return {
    name: `the provider answers ${status}`,
    given: async () => await provided([{ kind: 'refuse', status, message: 'Not today.' }]),
    code: 'E-RUN-059',
    says: `the task failed: provider answered ${status}: Not today.`,
    retryable,
    state: 'failed',
  };
}

/** A driver that is a program of Node. */
function driven(program: string): Failure {
  const command = `[${JSON.stringify(process.execPath)}, -e, ${JSON.stringify(program)}]`;
  const inference = `inference: { model: any, transport: process, command: ${command} }\n`;
  return { workspace: capsule({ files: { 'svc.yaml': `name: demo\nversion: 1.2.3\n${inference}` } }) };
}

const htmlPage: FakeReply = {
  kind: 'refuse',
  status: 200,
  body: '<html>Please log in</html>',
  headers: { 'content-type': 'text/html' },
};

async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The session that runs in a workspace works: its command has begun. */
async function begun({ folder }: Workspace): Promise<void> {
  const place = join(folder, 'begun');
  while (!existsSync(place)) await sleep(20);
}

function busy(): Workspace {
  const workspace = capsule({ manifest: 'capabilities: { shell: { allow: [sh, touch, sleep] } }\n' });
  workspace.write('script.yaml', runsCommand(`touch ${join(workspace.folder, 'begun')}; sleep 60`));
  return workspace;
}

const done = { state: 'failed', code: 'E-RUN-059' } as const;
const atLaunch = { state: null } as const;

/** Every way in which `svc -p` gives no answer. */
export const failedRuns: readonly FailedRun[] = [
  answered(400, false),
  answered(401, false),
  answered(403, false),
  answered(404, false),
  answered(429, true),
  answered(500, true),
  answered(503, true),
  answered(529, true),
  {
    ...done,
    name: 'something answers with a page of HTML',
    given: async () => await provided([htmlPage]),
    says: 'the task failed: provider answered without an event stream: <html>Please log in</html>',
    retryable: null,
  },
  {
    ...done,
    name: 'the provider closes the connection',
    given: async () => await provided([{ kind: 'drop' }]),
    says: 'the task failed: cannot reach http://127.0.0.1:',
    retryable: true,
  },
  {
    ...done,
    name: 'the answer breaks off',
    given: async () => await provided([{ ...says('The answer', ' is'), breakAfter: 2 }]),
    says: 'the task failed: the connection broke before the response was whole: the other side closed it',
    retryable: true,
  },
  {
    ...done,
    name: 'the answer has no end',
    given: async () => await provided([{ ...says('The answer is'), finish: null }]),
    says: 'the task failed: the provider ended its reply without a finish reason',
    retryable: null,
  },
  {
    ...done,
    name: 'the provider sends no JSON',
    given: async () => await provided([{ kind: 'raw', pieces: ['data: {"choices": [\n\n'] }]),
    says: 'the task failed: ',
    retryable: null,
  },
  {
    ...done,
    name: 'nothing listens',
    given: async () => ({ workspace: asking(`http://127.0.0.1:${await closedPort()}`) }),
    says: 'the task failed: cannot reach http://127.0.0.1:',
    retryable: true,
  },
  {
    ...done,
    name: 'no host has the name',
    given: () => ({ workspace: asking('https://no-such-host.invalid') }),
    says: 'the task failed: cannot reach https://no-such-host.invalid: ',
    retryable: true,
  },
  {
    name: 'the model says nothing',
    given: async () => {
      const silent = { ...says('late'), pace: async () => await new Promise<void>(() => {}) };
      return await provided([silent], '  timeout_secs: { idle: 1 }\n');
    },
    code: 'E-RUN-064',
    says: 'the model was silent for 1 s: inference.timeout_secs.idle',
    retryable: true,
    state: 'failed',
  },
  {
    ...done,
    name: 'the driver has nothing more to say',
    given: () => ({ workspace: capsule({ script: '[]\n' }) }),
    says: 'the task failed: ',
    retryable: null,
  },
  {
    ...done,
    name: 'the driver gives a reason to stop that nobody knows',
    given: () => ({
      workspace: capsule({ script: '- content: [{ type: text, text: Hi. }]\n  stop_reason: tired\n' }),
    }),
    says: 'the task failed: the driver gave an unknown stop reason: ',
    retryable: null,
  },
  {
    ...done,
    name: 'the driver announces a call and makes none',
    given: () => ({ workspace: capsule({ script: '- content: []\n  stop_reason: tool_call\n' }) }),
    says: 'the task failed: the driver announced a tool call and gave none',
    retryable: null,
  },
  {
    ...done,
    name: 'the program of the driver exits',
    given: () => driven('console.error("no licence found"); process.exit(3)'),
    says: 'the task failed: the driver exited with status 3 before its response: no licence found',
    retryable: null,
  },
  {
    ...done,
    name: 'the program of the driver is killed',
    given: () => driven('process.kill(process.pid, "SIGKILL")'),
    says: 'the task failed: the driver ',
    retryable: null,
  },
  {
    name: 'the program of the driver talks no JSON',
    given: () => driven('console.log("Hello there"); setInterval(() => {}, 1000)'),
    code: 'E-RUN-059',
    says: /^the task failed: .*JSON/,
    retryable: null,
    state: 'failed',
  },
  {
    name: 'the command of the driver is not there',
    given: () => ({
      workspace: capsule({
        files: {
          'svc.yaml':
            'name: demo\nversion: 1.2.3\ninference: { model: any, transport: process, command: [./no-such-driver] }\n',
        },
      }),
    }),
    code: 'E-RUN-',
    says: /no-such-driver/,
    retryable: null,
    state: 'failed',
  },
  {
    name: 'the ceiling of the manifest is too low',
    given: async () => await provided([says('Hi.')], '  max_session_tokens: 10\n'),
    code: 'E-RUN-081',
    says: 'spend ceiling reached: 0 of 10 session tokens used',
    retryable: false,
    state: 'failed',
  },
  {
    name: '--max-tokens is too low',
    given: async () => ({ ...(await provided([says('Hi.')])), args: ['-p', 'Hi', '--max-tokens', '11'] }),
    code: 'E-RUN-081',
    says: 'spend ceiling reached: 0 of 11 session tokens used',
    retryable: false,
    state: 'failed',
  },
  {
    ...done,
    name: 'the turns are used up',
    given: () => {
      const workspace = capsule({
        manifest: 'capabilities: { shell: { allow: [sh] } }\n',
        script: runsCommand('true', 'true'),
      });
      const manifest = `name: demo\nversion: 1.2.3\ninference:\n  model: scripted\n  max_turns: 1\n  driver: { artifact: svc-driver-script, config: { script: script.yaml } }\ncapabilities: { shell: { allow: [sh] } }\n`;
      workspace.write('svc.yaml', manifest);
      return { workspace };
    },
    says: 'the task failed: max_turns exceeded: 1 of 1 inference turns used',
    retryable: null,
  },
  {
    name: 'the time is over',
    given: () => ({ workspace: busy(), args: ['-p', 'Hi', '--timeout', '2s'] }),
    code: 'E-RUN-055',
    says: 'the task did not end within 2s (--timeout)',
    retryable: true,
    // Its state is that of a task that is canceled, unless a busy machine has not begun it by then.
  },
  {
    name: 'the workdir grows too large',
    given: () => ({
      workspace: capsule({
        manifest: 'capabilities: { shell: { allow: [sh, head] }, resources: { workdir_max_bytes: 1000 } }\n',
        script: runsCommand('head -c 100000 /dev/zero > big; sleep 60'),
      }),
    }),
    code: 'E-',
    says: /1000/,
    exit: 2,
    retryable: null,
    status: 'trapped',
  },
  {
    name: 'the capsule asks something',
    given: () => ({
      workspace: capsule({
        manifest: 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n',
        script: script(asks('Which colour?')),
      }),
    }),
    code: 'E-RUN-054',
    says: 'the capsule asks, and nobody can answer svc -p: Which colour?',
    retryable: false,
    state: 'canceled',
  },
  {
    ...atLaunch,
    name: 'the task is empty',
    given: () => ({ workspace: capsule(), args: ['-p', '  '] }),
    code: 'E-RUN-024',
    says: 'the task is empty (-p)',
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'there is no task',
    given: () => ({ workspace: capsule(), args: ['-p'] }),
    code: 'E-RUN-024',
    says: 'there is no task, and nobody can send one to svc -p',
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'the pipe for the task is empty',
    given: () => ({ workspace: capsule(), args: ['-p', '-'], input: '' }),
    code: 'E-RUN-024',
    says: 'the task is empty (standard input)',
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'what is piped in is no text',
    given: () => ({ workspace: capsule(), input: Buffer.from([0x47, 0xfc]) }),
    code: 'E-RUN-060',
    says: 'the task cannot be read from standard input: it is not UTF-8 text',
    retryable: null,
  },
  {
    ...atLaunch,
    name: 'what is piped in is too long',
    given: () => ({ workspace: capsule(), input: Buffer.alloc(10 * 1024 * 1024 + 1, 0x61) }),
    code: 'E-RUN-060',
    says: 'the task cannot be read from standard input: it is larger than 10 MiB',
    retryable: null,
  },
  {
    ...atLaunch,
    name: 'a file of the user is in the way',
    given: () => ({
      workspace: capsule({ files: { 'here/task.md': 'Mine.' } }),
      args: ['-p', 'Hi', '--workdir', 'here'],
    }),
    code: 'E-RUN-053',
    says: 'task.md in the workdir ',
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'there is no manifest',
    given: () => ({ workspace: capsule(), args: ['-p', 'Hi', '--manifest', 'other.yaml'] }),
    code: 'E-IO-001',
    says: 'svc run -p runs the capsule of a manifest, and there is no file other.yaml',
    retryable: null,
  },
  {
    ...atLaunch,
    name: 'the manifest is no YAML',
    given: () => ({ workspace: capsule({ files: { 'svc.yaml': 'name: [' } }) }),
    code: 'E-MAN-',
    says: /./,
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'the manifest lacks something',
    given: () => ({ workspace: capsule({ files: { 'svc.yaml': 'name: demo\nversion: 1.2.3\n' } }) }),
    code: 'E-MAN-',
    says: /inference/,
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'the key of the provider is not set',
    given: () => ({ workspace: asking('http://127.0.0.1:9', { keys: '  api_key: ${NO_SUCH_KEY}\n' }) }),
    code: 'E-MAN-003',
    says: /NO_SUCH_KEY/,
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'an artifact is nowhere',
    given: () => ({
      workspace: capsule({ manifest: 'artifacts: [{ name: no-such-tool, version: 1.0.0, runtime: tool }]\n' }),
      args: ['-p', 'Hi', '--offline'],
    }),
    code: 'E-REG-001',
    says: /no-such-tool/,
    retryable: null,
  },
  {
    ...atLaunch,
    name: 'the port is taken',
    given: async () => ({ workspace: capsule({ manifest: `network: { internal_port: ${await takenPort()} }\n` }) }),
    code: 'E-RUN-010',
    says: /^port \d+ of network\.internal_port is already bound/,
    retryable: null,
  },
  {
    ...atLaunch,
    name: 'the host contains too little',
    given: () => ({ workspace: capsule(), args: ['-p', 'Hi', '--containment', 'sealed'] }),
    code: 'E-CAP-003',
    says: /sealed/,
    retryable: false,
  },
  {
    ...atLaunch,
    name: 'no store has the capsule',
    given: () => ({
      workspace: capsule(),
      args: ['-p', 'Hi', '--capsule', 'no-such-capsule', '--capsule-version', '1.0.0'],
    }),
    code: 'E-',
    says: /no-such-capsule/,
    retryable: null,
  },
  {
    ...atLaunch,
    name: 'the configuration of the workspace is wrong',
    given: () => ({ workspace: capsule({ files: { '.svc/config.yaml': 'containment: iron\n' } }) }),
    code: 'E-',
    says: /containment/,
    retryable: false,
  },
  {
    name: 'SIGTERM ends it',
    given: () => {
      const workspace = busy();
      const meanwhile = async (pid: number): Promise<void> => {
        await begun(workspace);
        process.kill(pid, 'SIGTERM');
      };
      return { workspace, meanwhile };
    },
    code: 'E-RUN-056',
    says: 'the task was canceled',
    retryable: true,
    state: 'canceled',
  },
  {
    name: 'svc stop ends it',
    given: () => {
      const workspace = busy();
      const meanwhile = async (): Promise<void> => {
        await begun(workspace);
        await pipedSvc(workspace, ['stop']);
      };
      return { workspace, meanwhile };
    },
    code: 'E-RUN-056',
    says: 'the task was canceled',
    retryable: true,
    state: 'canceled',
  },
];

/** Runs it to its end; `more` are words after its own. */
export async function endOf(failure: FailedRun, more: readonly string[] = []): Promise<PipedEnd> {
  const { workspace, args = ['-p', 'Hi'], ...options } = await failure.given();
  return await pipedSvc(workspace, [...args, ...more], options);
}

/** The code and the words of the one error on standard error. */
export function toldReason(stderr: string): { readonly code: string; readonly message: string } {
  const errors = [...stderr.matchAll(/^error\[(.*?)\]: (.*)$/gm)];
  expect(errors.length, stderr).toBeGreaterThan(0);
  const [, code = '', message = ''] = errors[0] ?? [];
  return { code, message };
}

export function expectReason(
  { code, says: words }: FailedRun,
  reason: { readonly code: string; readonly message: string },
): void {
  if (code.endsWith('-')) expect(reason.code.startsWith(code), reason.code).toBe(true);
  else expect(reason.code).toBe(code);
  if (typeof words === 'string') expect(reason.message.slice(0, words.length)).toBe(words);
  else expect(reason.message).toMatch(words);
}

/** A test of `svc -p` for each, which says on standard error alone why there is no answer. */
export function describePlainRuns(failures: readonly FailedRun[]): void {
  describe('svc -p gives no answer and says why on standard error', () => {
    it.each(failures)('when $name', { timeout: 60_000 }, async (failure) => {
      const { code, stdout, stderr } = await endOf(failure);
      expect(stdout).toBe('');
      expectReason(failure, toldReason(stderr));
      expect(code).toBe(failure.exit ?? 1);
    });
  });
}
