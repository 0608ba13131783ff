/** Starts svc view, and asks its page for things. */

import { onTestFinished } from 'vitest';

import { bodyOf, RawSocket } from './raw-socket.ts';
import { type SvcOptions, SvcProcess } from './svc-process.ts';
import type { Workspace } from './workspace.ts';

/** What `svc view --json` prints. */
interface ViewLine {
  readonly url: string;
  readonly port: number;
  readonly session: string | null;
  readonly read_only: boolean;
}

/** An answer of the page's server. */
export interface ViewAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

type Asked = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> };

/** A running `svc view`, and requests to it as its page makes them. */
export class ViewProcess {
  readonly process: SvcProcess;
  readonly line: ViewLine;
  readonly token: string;

  private constructor(process: SvcProcess, line: ViewLine) {
    this.process = process;
    this.line = line;
    this.token = /#token=([\w-]{43})(?:&|$)/.exec(line.url)?.[1] ?? '';
  }

  /** It is ended after the test. */
  static async start(workspace: Workspace, args: readonly string[] = [], options?: SvcOptions): Promise<ViewProcess> {
    const process = new SvcProcess(workspace, ['view', ...args, '--json'], options);
    onTestFinished(async () => {
      process.child.kill('SIGKILL');
      await process.ended;
    });
    const [line] = await process.printed(/^.*\n/);
    return new ViewProcess(process, JSON.parse(line) as ViewLine);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.line.port}`;
  }

  async open(path: string, init: Asked = {}): Promise<Response> {
    const authorization = `Bearer ${this.token}`;
    return await fetch(this.origin + path, { ...init, headers: { authorization, ...init.headers } });
  }

  /** A whole answer. */
  async ask(path: string, init: Asked = {}): Promise<ViewAnswer> {
    const response = await this.open(path, init);
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  /** Its JSON. */
  async json(path: string, init: Asked = {}): Promise<unknown> {
    return JSON.parse((await this.ask(path, init)).text);
  }

  /** A call of the capsule. */
  async call(session: string, method: string, params: unknown): Promise<ViewAnswer> {
    return await this.ask(`/s/${session}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  }

  /** The answer to a request of these very bytes except for its lines' ends, which has `connection: close`. */
  async raw(
    ...lines: readonly string[]
  ): Promise<{ readonly status: number; readonly head: string; readonly body: string }> {
    const socket = await RawSocket.open(this.line.port);
    socket.send(`${[...lines, 'connection: close'].join('\r\n')}\r\n\r\n`);
    const received = await socket.untilClosed();
    const head = received.slice(0, received.indexOf('\r\n\r\n'));
    return { status: Number(received.slice(9, 12)), head, body: bodyOf(received) };
  }

  /** The header that shows the token. */
  get bearer(): string {
    return `authorization: Bearer ${this.token}`;
  }

  get host(): string {
    return `host: 127.0.0.1:${this.line.port}`;
  }
}

/** A stream that is being read. */
export class ReadStream {
  text = '';
  isOver = false;
  #changed: (() => void)[] = [];

  constructor(response: Response) {
    void this.#read(response);
  }

  /** What was read, once it holds the text; rejects when the stream ends without it. */
  async until(text: string): Promise<string> {
    for (;;) {
      if (this.text.includes(text)) return this.text;
      if (this.isOver) throw new Error(`the stream ended without ${JSON.stringify(text)}: ${this.text}`);
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  async untilOver(): Promise<string> {
    while (!this.isOver) await new Promise<void>((resolve) => this.#changed.push(resolve));
    return this.text;
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const piece of response.body ?? []) {
        this.text += decoder.decode(piece as Uint8Array, { stream: true });
        this.#wake();
      }
    } catch {
      // The server has cut it.
      this.text += '[cut]';
    }
    this.isOver = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#changed.splice(0)) wake();
  }
}
