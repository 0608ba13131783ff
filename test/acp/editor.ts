import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
import { afterEach } from 'vitest';

import type { Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

// Updates are looked into at many places, and each test says what it expects of them.
// oxlint-disable-next-line typescript/no-explicit-any
export type Update = Record<string, any>;

export interface EditorOptions {
  /** What its user answers to a form; null declines it. Absent for an editor without forms. */
  readonly answer?: (question: string) => string | null | Promise<string | null>;
  /** The option that its user chooses for a call; null cancels. */
  readonly choose?: (request: Update) => string | null;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** The official client, as an editor uses it. */
export class Editor {
  readonly agent: ChildProcess;
  readonly updates: Update[] = [];
  stderr = '';
  #connection: Connection | null = null;
  #leave: () => void = () => {};
  readonly #watchers = new Set<() => void>();

  private constructor(agent: ChildProcess) {
    this.agent = agent;
    agent.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  static async open(
    workspace: Workspace,
    { answer, choose, args = [], cwd, env }: EditorOptions = {},
  ): Promise<Editor> {
    const agent = spawnAgent(workspace, args, cwd, env);
    const editor = new Editor(agent);
    const { stdin, stdout } = agent;
    if (stdin === null || stdout === null) throw new Error('no streams');
    stdin.on('error', () => {});
    const app = client({ name: 'test' })
      .onNotification(methods.client.session.update, ({ params }) => {
        editor.updates.push(params.update);
        for (const watcher of editor.#watchers) watcher();
      })
      .onRequest(methods.client.elicitation.create, async ({ params }) => {
        const text = (await answer?.(String((params as Update)['message']))) ?? null;
        return text === null ? { action: 'decline' } : { action: 'accept', content: { answer: text } };
      })
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        const optionId = choose?.(params) ?? null;
        return { outcome: optionId === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId } };
      });
    const stream = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout));
    await new Promise<void>((resolve, reject) => {
      app
        .connectWith(stream, async (connection) => {
          editor.#connection = connection as unknown as Connection;
          resolve();
          await new Promise<void>((leave) => (editor.#leave = leave));
        })
        .catch(reject);
    });
    return editor;
  }

  async initialize(forms: boolean): Promise<Update> {
    return await this.request('initialize', {
      protocolVersion: 1,
      clientCapabilities: forms ? { elicitation: { form: {} } } : {},
      clientInfo: { name: 'test', version: '1' },
    });
  }

  /** Rejects with an error that has a `code`. */
  async request(method: string, params: object): Promise<Update> {
    if (this.#connection === null) throw new Error('not connected');
    return (await this.#connection.request(method, params)) as Update;
  }

  async notify(method: string, params: object): Promise<void> {
    await this.#connection?.notify(method, params);
  }

  async newSession(cwd: string): Promise<string> {
    const { sessionId } = await this.request('session/new', { cwd, mcpServers: [] });
    return String(sessionId);
  }

  /** Why the turn ended. The messages of the turn are in `updates`, which this empties first. */
  async prompt(sessionId: string, text: string): Promise<string> {
    this.updates.length = 0;
    const prompt = [{ type: 'text', text }];
    return String((await this.request('session/prompt', { sessionId, prompt }))['stopReason']);
  }

  /** All that the agent said. */
  get said(): string {
    const chunks = this.of('agent_message_chunk');
    return chunks.map(({ content }) => String((content as Update)['text'])).join('');
  }

  of(kind: string): readonly Update[] {
    return this.updates.filter(({ sessionUpdate }) => sessionUpdate === kind);
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        const watcher = (): void => {
          this.#watchers.delete(watcher);
          resolve();
        };
        this.#watchers.add(watcher);
      });
    }
  }

  /** Closes the connection, and waits for the agent to end; its exit code. */
  async close(): Promise<number | null> {
    this.#leave();
    this.agent.stdin?.end();
    if (this.agent.exitCode === null && this.agent.signalCode === null) await once(this.agent, 'exit');
    return this.agent.exitCode;
  }
}

interface Connection {
  request(method: string, params: object): Promise<unknown>;
  notify(method: string, params: object): Promise<void>;
}

/** `svc serve acp` as an editor starts it. */
export function spawnAgent(
  workspace: Workspace,
  args: readonly string[],
  cwd = workspace.folder,
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  return spawn(process.execPath, [program, 'serve', 'acp', ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** A starter of editors, which are closed after the test that opened them. */
export function useEditors(): (workspace: Workspace, options?: EditorOptions) => Promise<Editor> {
  const editors: Editor[] = [];
  afterEach(async () => {
    await Promise.all(editors.splice(0).map((editor) => editor.close()));
  });
  return async (workspace, options = {}) => {
    const editor = await Editor.open(workspace, options);
    editors.push(editor);
    await editor.initialize(options.answer !== undefined);
    return editor;
  };
}
