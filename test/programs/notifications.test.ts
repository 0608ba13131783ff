import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const canary = 'canary-key-0123456789';
const secret = `whsec_${Buffer.from('the-secret-of-the-target').toString('base64')}`;
const env = { SVC_CONTAINMENT_CEILING: 'sealed', NOTIFY_SECRET: secret, SERVICE_TOKEN: canary };

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Target {
  readonly url: string;
  readonly received: Received[];
  readonly until: (type: string) => Promise<Received>;
}

/** A target that accepts everything, unless `answer` does something else. */
async function target(
  answer = (response: ServerResponse): void => void response.writeHead(204).end(),
): Promise<Target> {
  const received: Received[] = [];
  const watchers: (() => void)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString();
      const { type, data } = JSON.parse(raw) as Received;
      received.push({ headers: request.headers, raw, type, data });
      answer(response);
      for (const watcher of watchers.splice(0)) watcher();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const until = async (type: string): Promise<Received> => {
    for (;;) {
      const found = received.find((each) => each.type === type);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => watchers.push(resolve));
    }
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received, until };
}

function manifest(url: string, more = ''): string {
  return `notify: { webhook: "${url}", secret: "\${NOTIFY_SECRET}" }
capabilities: { shell: { allow: [touch, cat] }, env: { allow: [SERVICE_TOKEN] } }
${more}`;
}

const asks = 'approvals: { rules: [{ ask: { command: [touch, "**"] } }] }\n';

function kept({ folder }: Workspace): string {
  const root = join(folder, '.svc', 'sessions');
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n');
}

/** Has a program of the home hear of every session; `script` follows once it has kept what it got. */
function operatorProgram({ home }: Workspace, script: string): void {
  const path = join(home, 'hear');
  const keeps =
    'body=$(cat); printf "%s\\n" "$body" >>"$HOME/heard"; printf "%s\\n" "$PWD" "$#" "$1" >"$HOME/how"; env >"$HOME/env"';
  writeFileSync(path, `#!/bin/sh\n${keeps}\n${script}\n`, { mode: 0o755 });
  mkdirSync(join(home, '.svc'), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, '.svc', 'config.yaml'), `notify: { command: ["${path}", told] }\n`, { mode: 0o600 });
}

function heardBy({ home }: Workspace): readonly Pick<Received, 'type' | 'data'>[] {
  const file = join(home, 'heard');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return lines.map((line) => JSON.parse(line) as Received);
}

describe('the target that a manifest names', () => {
  it('gets a call that waits, which svc approve answers without any terminal, and the end', async () => {
    const { url, until, received } = await target();
    const workspace = capsule({
      manifest: manifest(url, asks),
      script: script(calls([['c1', 'touch', { command: `pushed '\u001B[2J${canary}'` }]]), says('Done.')),
    });
    const { process, line } = await startCapsule(workspace, ['--task', 'Push.'], { env });
    onTestFinished(() => void process.child.kill('SIGKILL'));
    const { headers, raw, data } = await until('question.asked');
    const id = String(data['approval_id']);
    expect(data).toMatchObject({ capsule: 'demo', session_id: line.session_id, task_id: `tsk_${id.slice(4, -3)}` });
    expect(data['text']).toBe(
      `approve this call? ["touch","pushed","\\u001b[2J[secret]"] - svc approve ${id} answers; a message does not`,
    );
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${raw}`;
    const signature = createHmac('sha256', 'the-secret-of-the-target').update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    expect((await svc(workspace, ['approve', id, '--allow'], { env })).stdout).toBe(`${id} allow\n`);
    const ended = await process.ended;
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain(`warning[W-APR-008]: a task waits: ${String(data['text'])}\n`);
    expect((await until('task.ended')).data).toMatchObject({ state: 'completed' });
    expect(readdirSync(line.workdir)).toContain('pushed');
    const said = received.map((each) => each.raw).join('\n');
    expect(said + kept(workspace)).not.toContain('canary');
    expect(said + kept(workspace)).not.toContain(secret);
    const before = received.length;
    const replayed = await svc(workspace, ['run', '--replay', line.session_id], { env });
    expect([replayed.code, received.length]).toEqual([0, before]);
  }, 120_000);

  it('gets a task that failed, and ten refusals within a minute, which standard error says too', async () => {
    const { url, until } = await target();
    const refused = Array.from({ length: 10 }, (_, at) => [`c${at}`, 'rm', { command: 'x' }] as const);
    const workspace = capsule({
      manifest: manifest(url, 'lifecycle: { max_task_reopens: 0 }\n'),
      script: script(calls(refused)),
    });
    const { code, stderr } = await svc(workspace, ['run', '--task', 'Push.'], { env });
    expect(code).toBe(1);
    expect((await until('refusal.serious')).data).toMatchObject({
      text: 'svc has refused ten things within a minute: tool rm, asked for by svc, refused by not offered',
    });
    expect((await until('task.ended')).data).toMatchObject({ state: 'failed', text: expect.stringMatching(/\w/) });
    expect(stderr).toContain('warning[W-APR-004]: svc has refused ten things within a minute: tool rm');
    expect(kept(workspace)).toMatch(/"event_type":"refusal".*"serious":"many"/);
  }, 60_000);

  it.each([
    ['says nothing', (): void => {}, 'the session ended'],
    ['redirects', (response: ServerResponse): void => void response.writeHead(302, { location: '/x' }).end(), '302'],
  ])(
    'holds up no task where it %s, and is said to have missed it',
    async (_, answer, why) => {
      const { url, received } = await target(answer);
      const workspace = capsule({ manifest: manifest(url), script: script(says('Done.')) });
      const { code, stderr } = await svc(workspace, ['run', '--task', 'Push.'], { env });
      expect(code).toBe(0);
      expect(received.map(({ type }) => type)).toEqual(['task.ended']);
      const trace = kept(workspace);
      expect(trace).toMatch(new RegExp(`"event_type":"push_lost".*"sent":0,"lost":1,"reason":"[^"]*${why}`));
      expect(stderr.includes('W-APR-005')).toBe(why === '302');
    },
    60_000,
  );

  it('takes the place of nobody where a variable of it is missing or its address is no address', async () => {
    const missing = capsule({ manifest: manifest('http://127.0.0.1:9/', '') });
    const { NOTIFY_SECRET: _, ...without } = env;
    const end = await svc(missing, ['run', '--task', 'x'], { env: without });
    expect([end.code, end.stderr]).toEqual([1, expect.stringContaining('NOTIFY_SECRET, which is not set')]);
    const plain = await svc(capsule({ manifest: manifest('http://a.example/') }), ['run', '--task', 'x'], { env });
    expect([plain.code, plain.stderr]).toEqual([1, expect.stringContaining('must be https')]);
    const misspelt = capsule({ manifest: 'notify: { webhok: "https://a.example/" }\n' });
    expect((await svc(misspelt, ['run', '--task', 'x'], { env })).stderr).toContain('webhok');
  }, 60_000);

  it('stands in --explain-scope without its path', async () => {
    const workspace = capsule({ manifest: manifest('https://hooks.example/t0ken/x') });
    // The one of the manifest comes before that of the operator.
    operatorProgram(workspace, 'exit 0');
    const { stdout } = await svc(workspace, ['run', '--explain-scope', '--task', 'x'], { env });
    expect(stdout).toContain('https://hooks.example hears of questions, ends and serious refusals');
    expect(stdout).not.toContain('t0ken');
  }, 60_000);
});

it("the operator's program hears of a session, and where it fails nobody is there by it", async () => {
  const hostile = '$(touch hostile)`touch hostile`;"\'';
  const workspace = capsule({
    manifest: `capabilities: { shell: { allow: [touch] }, env: { allow: [SERVICE_TOKEN] } }\n${asks}`,
    script: script(
      ...[[hostile, canary], ['fails'], ['third']].map((args, at) =>
        calls([[`c${at}`, 'touch', { command: args.map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(' ') }]]),
      ),
      says('Done.'),
    ),
  });
  operatorProgram(workspace, 'case $body in *fails*) exit 3;; esac');
  const { process, line } = await startCapsule(workspace, ['--task', 'Push.'], { env });
  onTestFinished(() => void process.child.kill('SIGKILL'));
  const asked = async (text: string): Promise<string> => {
    const find = (): unknown =>
      heardBy(workspace).find(({ data }) => String(data['text']).includes(text))?.data['approval_id'];
    await expect.poll(find, { timeout: 60_000 }).toBeTypeOf('string');
    return String(find());
  };
  await svc(workspace, ['approve', await asked('hostile'), '--allow'], { env });
  await svc(workspace, ['approve', await asked('fails'), '--deny'], { env });
  const { code, stderr } = await process.ended;
  expect(code).toBe(0);
  const path = join(workspace.home, 'hear');
  expect(stderr).toContain(`warning[W-APR-005]: a notification did not reach ${path}: it ended with 3`);
  // What was asked third is not waited for.
  expect(stderr).toMatch(/W-APR-003.*notify names a program that fails/);
  expect(kept(workspace)).toMatch(/"event_type":"push_lost".*"sent":2,"lost":1,"reason":"it ended with 3"/);
  const heard = heardBy(workspace);
  expect(heard.at(-1)).toMatchObject({ type: 'task.ended', data: { session_id: line.session_id, state: 'completed' } });
  expect(JSON.stringify(heard)).not.toMatch(/canary|third/);
  expect(readFileSync(join(workspace.home, 'how'), 'utf8')).toBe(`${workspace.home}\n1\ntold\n`);
  expect(readFileSync(join(workspace.home, 'env'), 'utf8')).not.toMatch(/SERVICE_TOKEN|SVC_/);
  expect(existsSync(join(workspace.home, 'hostile'))).toBe(false);
  const replayed = await svc(workspace, ['run', '--replay', line.session_id], { env });
  expect([replayed.code, heardBy(workspace).length]).toEqual([0, heard.length]);
  const { stdout } = await svc(workspace, ['run', '--explain-scope', '--task', 'x'], { env });
  expect(stdout).toContain(`${path} hears of questions, ends and serious refusals`);
}, 120_000);

it('without a target, a call that nobody can approve is denied, and standard error says so once', async () => {
  const workspace = capsule({
    manifest: `capabilities: { shell: { allow: [touch] } }\n${asks}`,
    script: script(
      calls([['c1', 'touch', { command: 'a' }]]),
      calls([['c2', 'touch', { command: 'b' }]]),
      says('Done.'),
    ),
  });
  const { code, stderr } = await svc(workspace, ['run', '--task', 'Push.'], { env });
  expect(code).toBe(0);
  expect(stderr.match(/W-APR-003/g)).toHaveLength(1);
  expect(stderr).toContain('a call was denied: nobody can be asked: there is neither a terminal nor an editor');
}, 60_000);
