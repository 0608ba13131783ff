import { lchownSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { FrameStream, type StreamFrame } from '../support/frame-stream.ts';
import { scriptCapsule, type ScriptCapsule } from '../support/script-capsule.ts';
import { message, startCapsule, type SvcProcess, type RunLine } from '../support/svc-process.ts';
import { warmHome } from '../support/warm-home.ts';
import type { Workspace } from '../support/workspace.ts';

/** Who runs `svc`, and the strongest class that it may use. */
export interface Setup<Class extends ContainmentClass = 'sealed' | 'scoped'> {
  readonly name: string;
  readonly class: Class;
  /** Null means the user of the tests. */
  readonly uid: number | null;
}

const isRoot = process.getuid?.() === 0;
const ordinaryUser = 1000;

function asEveryone<Class extends ContainmentClass>(wanted: Class): readonly Setup<Class>[] {
  const own = { name: `${wanted} as ${isRoot ? 'root' : 'an ordinary user'}`, class: wanted, uid: null };
  return isRoot ? [own, { name: `${wanted} as an ordinary user`, class: wanted, uid: ordinaryUser }] : [own];
}

export const sealed: readonly Setup[] = asEveryone('sealed');
export const scoped: readonly Setup[] = asEveryone('scoped');
export const advisory: readonly Setup<'advisory'>[] = asEveryone('advisory');
const isEveryUser = process.env['CONTAINED_USERS'] === 'all';
/** One user of each class, who is not root where there is another: for attempts whose end does not depend on the user. Long tests make them as each user. */
export const ofOneUser: readonly Setup[] = isEveryUser
  ? [...sealed, ...scoped]
  : [...sealed.slice(-1), ...scoped.slice(-1)];
/** For what is the same for every user. */
export const asOneself: readonly Setup[] = [...sealed, ...scoped].filter(({ uid }) => uid === null);
/** The strongest class alone, for what is the same in each of them too. Long tests take each. */
export const asOneselfSealed: readonly Setup[] = isEveryUser ? asOneself : asOneself.slice(0, 1);

/** One thing the model of a capsule does. */
export interface ScriptedCall {
  /** Distinguishes the calls of a capsule. */
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export function shell(id: string, command: string, tool = 'bash'): ScriptedCall {
  return { id, tool, input: { command } };
}

export interface ContainedOptions {
  readonly calls: readonly ScriptedCall[];
  /** Lines below `capabilities:` but the floor, as YAML. */
  readonly capabilities: string;
  /** Other lines of the manifest. */
  readonly manifest?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Its calls can be made more than once. */
  readonly stays?: boolean;
  /** After so long a command goes on in the background, while the next call is made. */
  readonly graceSecs?: number;
  /** Flags of `svc run`. */
  readonly args?: readonly string[];
  /** The `node` that runs it, below the workspace; the one of the tests when absent. */
  readonly node?: string;
  /** Before `svc` starts; gives variables for it that depend on where the workspace is. */
  readonly prepare?: (workspace: Workspace) => Readonly<Record<string, string>>;
}

/** What the model reads of a call. */
export interface CallResult {
  /** Without the fence, and without the line that repeats a command. */
  readonly text: string;
  readonly isError: boolean;
}

/** What the model reads of a command that succeeds. */
export function printed(stdout: string): string {
  return `exit code: 0\nstdout:\n${stdout.replace(/\n$/, '')}\nstderr: (empty)`;
}

/** A capsule whose processes the kernel contains; its first task has been given to it. */
export class ContainedCapsule {
  readonly workspace: Workspace;
  readonly process: SvcProcess;
  readonly line: RunLine;
  /** The stream of the task that was given to it last. */
  stream: FrameStream;
  readonly #calls: readonly ScriptedCall[];

  private constructor(parts: {
    readonly workspace: Workspace;
    readonly process: SvcProcess;
    readonly line: RunLine;
    readonly stream: FrameStream;
    readonly calls: readonly ScriptedCall[];
  }) {
    this.workspace = parts.workspace;
    this.process = parts.process;
    this.line = parts.line;
    this.stream = parts.stream;
    this.#calls = parts.calls;
  }

  static async start(setup: Setup<ContainmentClass>, options: ContainedOptions): Promise<ContainedCapsule> {
    const workspace = scriptCapsule(capsuleOf(setup, options));
    const prepared = options.prepare?.(workspace) ?? {};
    if (setup.uid !== null) {
      warmHome(workspace.home, setup.uid);
      giveAway(dirname(workspace.folder), setup.uid);
    }
    const { process, line } = await startCapsule(workspace, options.args ?? [], {
      env: { SVC_CONTAINMENT_CEILING: setup.class, ...options.env, ...prepared },
      ...(setup.uid === null ? {} : { uid: setup.uid }),
      ...(options.node === undefined ? {} : { node: join(workspace.folder, options.node) }),
    });
    const stream = await FrameStream.open(line.url, 'message/stream', message('Do it.'));
    return new ContainedCapsule({ workspace, process, line, stream, calls: options.calls });
  }

  /** Has the model make all its calls anew; for a capsule that stays. */
  async again(): Promise<void> {
    await this.stream.untilClosed();
    this.stream = await FrameStream.open(this.line.url, 'message/stream', message('Do it again.'));
  }

  /** What the model reads of a call, once it has ended. */
  async result(id: string): Promise<CallResult> {
    const call = this.#calls.find((each) => each.id === id);
    if (call === undefined) throw new Error(`there is no call ${id}`);
    const frame = await this.#frame(id);
    const { content, is_error: isError } = artifactOf(frame.data);
    return { text: withoutCommand(withoutFence(content), call), isError };
  }

  async #frame(id: string): Promise<StreamFrame> {
    try {
      return await this.stream.until(({ event, data }) => event === 'artifact' && artifactOf(data).tool_call_id === id);
    } catch (error) {
      const { code, stderr } = await this.process.ended;
      throw new Error(`svc ended with ${code} before ${id} had a result:\n${stderr}`, { cause: error });
    }
  }

  async dispose(): Promise<void> {
    this.stream.close();
    const { child } = this.process;
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await this.process.ended;
    this.workspace.remove();
  }
}

interface Artifact {
  readonly tool_call_id: string;
  readonly content: string;
  readonly is_error: boolean;
}

function artifactOf(data: Readonly<Record<string, unknown>>): Artifact {
  return data['artifact'] as Artifact;
}

function withoutFence(content: string): string {
  return /^<untrusted-content source=[^\n]*>\n([^]*)\n<\/untrusted-content>$/.exec(content)?.[1] ?? content;
}

function withoutCommand(text: string, { tool, input: { command } }: ScriptedCall): string {
  const repeated = [`command: ${String(command)}\n`, `command: ${tool} ${String(command)}\n`];
  const line = repeated.find((each) => text.startsWith(each)) ?? '';
  return text.slice(line.length);
}

function capsuleOf(
  setup: Setup<ContainmentClass>,
  { calls, capabilities, manifest = '', files = {}, stays = false, graceSecs }: ContainedOptions,
): ScriptCapsule {
  const grace = graceSecs === undefined ? '' : `, shell_grace_secs: ${graceSecs}`;
  return {
    manifest: `${manifest}lifecycle: { task_acceptance: ${stays ? 'queue, after_task: sleep' : 'single'}${grace} }
capabilities:
  containment: ${setup.class}
${capabilities.replaceAll(/^/gm, '  ')}
`,
    script: scriptOf(calls),
    files,
  };
}

/** JSON is YAML. All calls are made in one turn. */
function scriptOf(calls: readonly ScriptedCall[]): string {
  const content = calls.map(({ id, tool: name, input }) => ({ type: 'tool_call', id, name, input }));
  return JSON.stringify([
    { content, stop_reason: 'tool_call' },
    { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' },
  ]);
}

/** Makes everything in a directory a user's, the directory too. */
export function giveAway(directory: string, uid: number): void {
  lchownSync(directory, uid, uid);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    // A link is theirs, and what it leads to is not.
    if (entry.isDirectory()) giveAway(path, uid);
    else lchownSync(path, uid, uid);
  }
}
