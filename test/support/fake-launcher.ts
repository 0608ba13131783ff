/** Stands in for programs that speak JSON over their standard streams. */

import { PassThrough } from 'node:stream';

import type { LaunchedProcess, LaunchEnd, Launcher, LaunchOutcome, LaunchRequest } from '@svc/sandbox/launcher.ts';

/** A JSON-RPC message, as loose as a test needs it. */
export type LooseMessage = Readonly<Record<string, unknown>>;

/** What a fake process does with a line that it is sent. */
export type Handler = (message: LooseMessage, process: FakeProcess) => void;

/** A process that is a function: it answers lines of JSON, and its signals are written down. */
export class FakeProcess implements LaunchedProcess {
  readonly pid = 1;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly ended: Promise<LaunchEnd>;
  /** What it was sent. */
  readonly received: LooseMessage[] = [];
  /** `end of input` among the signals, in their order. */
  readonly events: string[] = [];
  readonly #ignores: ReadonlySet<string>;
  #end: (end: LaunchEnd) => void = () => {};

  /** `ignores` are events that do not end it. */
  constructor(handler: Handler, ignores: readonly string[] = []) {
    this.#ignores = new Set(ignores);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    let rest = '';
    this.stdin.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const message = JSON.parse(line) as LooseMessage;
        this.received.push(message);
        handler(message, this);
      }
    });
    this.stdin.on('end', () => this.#happens('end of input', { kind: 'exited', exitCode: 0 }));
  }

  /** The methods that it was sent, without those of a start. */
  get asked(): readonly unknown[] {
    return this.received.map(({ method }) => method).filter((method) => !starting.has(String(method)));
  }

  write(message: LooseMessage): void {
    this.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  exit(end: LaunchEnd): void {
    this.stdout.end();
    this.stderr.end();
    this.#end(end);
  }

  kill(signal: NodeJS.Signals): void {
    this.#happens(signal, { kind: 'signaled', signal });
  }

  #happens(event: string, end: LaunchEnd): void {
    this.events.push(event);
    if (!this.#ignores.has(event)) this.exit(end);
  }
}

const starting: ReadonlySet<string> = new Set(['initialize', 'notifications/initialized', 'tools/list']);

/** Launches what it is given, one after another, and then the last again; says how often. */
export class FakeLauncher implements Launcher {
  readonly requests: LaunchRequest[] = [];
  readonly processes: FakeProcess[] = [];
  readonly #make: (count: number) => FakeProcess | LaunchOutcome;

  constructor(make: (count: number) => FakeProcess | LaunchOutcome) {
    this.#make = make;
  }

  launch(request: LaunchRequest): Promise<LaunchOutcome> {
    this.requests.push(request);
    const made = this.#make(this.requests.length);
    if (!(made instanceof FakeProcess)) return Promise.resolve(made);
    this.processes.push(made);
    return Promise.resolve({ kind: 'started', process: made });
  }
}
