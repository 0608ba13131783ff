/** Runs svc as somebody does who has just installed it. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { startFakeOllama } from '@svc/testing/fake-ollama.ts';
import type { FakeProvider } from '@svc/testing/fake-provider.ts';
import { calls, says, type FakeReply } from '@svc/testing/fake-reply.ts';
import { warmHome } from './warm-home.ts';
import type { Workspace } from './workspace.ts';
import { giveAway } from '../containment/contained-capsule.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

export interface TaskEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TaskOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where it is run; the folder when absent. */
  readonly cwd?: string;
  readonly input?: string;
  /** Another installation of `svc`, by the file that starts it. */
  readonly installed?: string;
}

/** A fresh home, a folder beside it, and a local model server that `svc` finds by itself. */
export class FirstMinute {
  readonly base: string;
  readonly home: string;
  readonly folder: string;
  readonly #uid: number | null;
  readonly #ceiling: string;
  model: FakeProvider | null = null;

  constructor({ name = 'shop', uid = null, ceiling }: { name?: string; uid?: number | null; ceiling: string }) {
    this.base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-first-')));
    this.home = join(this.base, 'home');
    this.folder = join(this.base, name);
    this.#uid = uid;
    this.#ceiling = ceiling;
    mkdirSync(this.home);
    mkdirSync(this.folder);
    warmHome(this.home, uid);
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      const target = join(this.folder, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
  }

  /** As helpers of other tests take it. */
  get workspace(): Workspace {
    const { folder, home } = this;
    return { folder, home, write: (path, text) => this.write({ [path]: text }), remove: () => {} };
  }

  /** The model does this, one a turn, and then says `Done.` */
  async plays(...replies: readonly FakeReply[]): Promise<void> {
    await this.model?.close();
    this.model = await startFakeOllama(
      [{ name: 'qwen3:8b', capabilities: ['completion', 'tools'] }],
      [...replies, says('Done.')],
    );
  }

  /** The model runs these with `sh`, one a turn. */
  async runs(...commands: readonly string[]): Promise<void> {
    await this.plays(...commands.map((command, turn) => calls('sh', { command }, `call_${turn}`)));
  }

  /** Runs `svc` to its end, with only `PATH` and its home in the environment. */
  async svc(args: readonly string[], { env = {}, cwd, input, installed }: TaskOptions = {}): Promise<TaskEnd> {
    if (this.#uid !== null) giveAway(this.base, this.#uid);
    const user = this.#uid === null ? {} : { uid: this.#uid, gid: this.#uid };
    const child = spawn(process.execPath, [installed ?? program, ...args], {
      cwd: cwd ?? this.folder,
      env: this.environment(env),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...user,
    });
    const said = { stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
    // It need not read everything.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...said };
  }

  environment(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
    // By its name: on a busy machine an answer within 200 ms is not to be counted on.
    const named = { OLLAMA_HOST: this.model?.endpoint, SVC_MODEL: 'ollama/qwen3:8b' };
    const model = this.model === null ? {} : named;
    return { PATH: process.env['PATH'], HOME: this.home, SVC_CONTAINMENT_CEILING: this.#ceiling, ...model, ...env };
  }

  /** What the model read of its calls, without the fences. */
  get results(): readonly string[] {
    const last = this.model?.requests.at(-1)?.json as { messages: { role: string; content: string }[] } | undefined;
    return (last?.messages ?? [])
      .filter(({ role }) => role === 'tool')
      .map(({ content }) =>
        content.replace(/^<untrusted-content [^\n]*\n/, '').replace(/\n<\/untrusted-content>$/, ''),
      );
  }

  /** The first request of the model. */
  get asked(): { readonly system: string; readonly task: string; readonly tools: readonly string[] } {
    const first = this.model?.requests[0];
    if (first === undefined) throw new Error('the model was not asked');
    const { messages, tools = [] } = first.json as {
      messages: { content: string }[];
      tools?: { function: { name: string } }[];
    };
    const [system, task] = messages.map(({ content }) => content);
    return { system: system ?? '', task: task ?? '', tools: tools.map((tool) => tool.function.name) };
  }

  /** The ids of its sessions. */
  get sessions(): readonly string[] {
    return readdirSync(join(this.home, '.svc', 'adhoc', '.svc', 'sessions'));
  }

  /** A file of the folder of its only session, or of the one that is named. */
  ofSession(file: string, id = this.sessions[0] ?? ''): string {
    return readFileSync(join(this.home, '.svc', 'adhoc', '.svc', 'sessions', id, file), 'utf8');
  }

  async dispose(): Promise<void> {
    await this.model?.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}
