/** Asks a model through a driver that is a program. */

import { basename, isAbsolute, resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { HiddenIn, LaunchOutcome, LaunchedProcess, Launcher } from '@svc/sandbox/launcher.ts';
import type { Digits } from '@svc/kit/exact-json.ts';
import { splitWords } from '@svc/sandbox/split-words.ts';
import { endProcess, OutputTail, readLines, type OutputLine } from '@svc/sandbox/launched-process.ts';
import type { CliDialect } from './programs/cli-dialect.ts';
import type { ProgramService } from './programs/cli-driver.ts';
import {
  type Driver,
  type DriverOutcome,
  type DriverTask,
  type InferenceCall,
  type InferenceRequest,
  redactedOutcome,
} from './driver.ts';
import {
  decodeDriverLine,
  requestLine,
  exitSentence,
  maxLineBytes,
  readDriverLine,
  stderrHeadBytes,
  stderrTailBytes,
} from './driver-lines.ts';

interface ProcessDriverSettings {
  /** `inference.command`: a list is taken as it is, a text is split into words without a shell. */
  readonly command: string | readonly string[];
  /** What a relative path in front of the command is relative to. */
  readonly manifestDirectory: string;
  readonly launcher: Launcher;
  /** What hidden files a failing driver's last words name, as a clause; null when they name none. */
  readonly hiddenIn?: HiddenIn;
  /** What a program with a dialect of its own is started with. */
  readonly program: ProgramSettings;
  readonly env: Readonly<Record<string, string>>;
  /** Takes secrets out of a failure: a driver may repeat its key in what it prints. */
  readonly redact: (text: string) => string;
  /** How long a driver may take to end by itself, and again after it was asked to; 2,000 when absent. */
  readonly endGraceMs?: number;
}

export interface ProgramSettings {
  readonly service: ProgramService;
  readonly apiKey: Secret | null;
  readonly maxTurns: number;
  readonly hasNetwork: boolean;
}

/** The programs with a dialect of their own. */
const ownDialects: ReadonlyMap<string, () => Promise<CliDialect>> = new Map([
  ['claude', async () => (await import('./programs/claude.ts')).claudeDialect],
  ['codex', async () => (await import('./programs/codex.ts')).codexDialect],
]);

/**
 * The driver behind `inference.transport: process`: in the default dialect, one process per task and one JSON object per line, or in that of the
 * program that the command names (docs/drivers.md "A model behind a program"). Throws `E-MAN-003` for a command that cannot be run so.
 */
export async function createProcessDriver(settings: ProcessDriverSettings): Promise<Driver> {
  const [program = '', ...args] = driverWords(settings.command);
  if (program === '') throw new Diagnostic('E-MAN-003', 'inference.command names no program');
  const { launcher, manifestDirectory, env, redact, hiddenIn = () => null, endGraceMs = 2000 } = settings;
  const command = program.includes('/') && !isAbsolute(program) ? resolve(manifestDirectory, program) : program;
  const dialectOf = ownDialects.get(basename(program));
  if (dialectOf !== undefined) {
    const [dialect, { createCliDriver }] = await Promise.all([dialectOf(), import('./programs/cli-driver.ts')]);
    return createCliDriver({ dialect, name: program, command, args, env, redact, endGraceMs, ...settings.program });
  }
  const open = new Set<ProcessDriverTask>();
  return {
    // The arguments may hold values of the environment.
    label: program,
    openTask() {
      const task = new ProcessDriverTask({
        launch: () => launcher.launch({ command, args, env, stdin: 'pipe' }),
        name: program,
        redact,
        hiddenIn,
        endGraceMs,
        onClosed: () => open.delete(task),
      });
      open.add(task);
      return task;
    },
    async close() {
      await Promise.all([...open].map((task) => task.close()));
    },
  };
}

/** `inference.command` as words: a list as it is, a text without a shell. Throws `E-MAN-003` for a text that cannot be split. */
export function driverWords(command: string | readonly string[]): readonly string[] {
  if (typeof command !== 'string') return command;
  const split = splitWords(command);
  if (split.kind === 'words') return split.words;
  throw new Diagnostic('E-MAN-003', `inference.command cannot be split into words: ${split.reason}`, {
    hint: 'write it as a list',
  });
}

const who = 'the driver';

interface ProcessDriverTaskSettings {
  readonly launch: () => Promise<LaunchOutcome>;
  /** The name that the manifest gives it, for messages. */
  readonly name: string;
  /** Takes secrets out of a failure. */
  readonly redact: (text: string) => string;
  /** What hidden files its last words name, as a clause; null when they name none. */
  readonly hiddenIn: HiddenIn;
  readonly endGraceMs: number;
  readonly onClosed: () => void;
}

interface Exchange {
  readonly call: InferenceCall;
  readonly settle: (outcome: DriverOutcome) => void;
}

/** A task's own driver process, started with the first turn. After anything but a response it is ended and of no more use. */
class ProcessDriverTask implements DriverTask {
  readonly #settings: ProcessDriverTaskSettings;
  #launch: Promise<LaunchOutcome> | null = null;
  #driver: RunningDriver | null = null;
  #closing: Promise<void> | null = null;

  constructor(settings: ProcessDriverTaskSettings) {
    this.#settings = settings;
  }

  async infer(request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome> {
    this.#launch ??= this.#settings.launch();
    const outcome = await this.#launch;
    if (outcome.kind === 'refused') {
      return { kind: 'unavailable', error: `${this.#settings.name} could not be started: ${outcome.reason}` };
    }
    this.#driver ??= new RunningDriver(outcome.process, this.#settings);
    return redactedOutcome(await this.#driver.exchange(request, call), this.#settings.redact);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const outcome = await this.#launch;
    if (outcome?.kind === 'started') {
      this.#driver ??= new RunningDriver(outcome.process, this.#settings);
      await this.#driver.close();
    }
    this.#settings.onClosed();
  }
}

class RunningDriver {
  readonly #launched: LaunchedProcess;
  readonly #settings: ProcessDriverTaskSettings;
  readonly #stderr = new OutputTail(stderrTailBytes, stderrHeadBytes);
  readonly #finished: Promise<void>;
  #exchange: Exchange | null = null;
  /** What went wrong first; every later exchange gets it too. */
  #fault: DriverOutcome | null = null;

  constructor(launched: LaunchedProcess, settings: ProcessDriverTaskSettings) {
    this.#launched = launched;
    this.#settings = settings;
    this.#finished = this.#follow();
  }

  async exchange(request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome> {
    if (this.#fault !== null) return this.#fault;
    const answered = new Promise<DriverOutcome>((settle) => {
      this.#exchange = { call, settle };
    });
    const onAbort = (): void => this.#fail({ kind: 'failed', error: 'the inference call was canceled' });
    call.signal.addEventListener('abort', onAbort, { once: true });
    if (call.signal.aborted) onAbort();
    else this.#launched.stdin?.write(requestLine(request));
    const outcome = await answered;
    call.signal.removeEventListener('abort', onAbort);
    return outcome;
  }

  /** Closes the driver's input, and ends a driver that does not end by that. */
  async close(): Promise<void> {
    this.#launched.stdin?.end();
    const force = setTimeout(() => {
      void endProcess(this.#launched, this.#settings.endGraceMs);
    }, this.#settings.endGraceMs);
    await this.#finished;
    clearTimeout(force);
  }

  async #follow(): Promise<void> {
    const read = this.#stderr.read(this.#launched.stderr);
    let midLine = false;
    for await (const line of readLines(this.#launched.stdout, maxLineBytes)) midLine = this.#take(line);
    const unanswered = setTimeout(() => {
      this.#fail({ kind: 'failed', error: 'the driver closed its output before its response' });
    }, this.#settings.endGraceMs);
    const [end] = await Promise.all([this.#launched.ended, read]);
    clearTimeout(unanswered);
    const stderr = this.#stderr.text();
    const sentence = exitSentence(who, { end, midLine, stderr });
    const hidden = this.#settings.hiddenIn(stderr, this.#launched.hides);
    this.#fail({ kind: 'failed', error: hidden === null ? sentence : `${sentence}\n${hidden}` });
  }

  /** Handles one line. True when it is a part of one. */
  #take(line: OutputLine): boolean {
    const reading = readDriverLine(line, who);
    if (reading.kind === 'value') this.#handle(reading.value, reading.digits);
    if (reading.kind === 'fault') this.#fail(reading.outcome);
    return reading.kind === 'part';
  }

  #handle(value: unknown, digits: Digits | undefined): void {
    const exchange = this.#exchange;
    if (exchange === null) {
      this.#fail({ kind: 'failed', error: 'the driver wrote a line that nobody asked for' });
      return;
    }
    exchange.call.onSign?.();
    const line = decodeDriverLine(value, digits);
    switch (line.kind) {
      case 'chunk':
        return exchange.call.onText(line.text);
      case 'thinking':
        return exchange.call.onThinking(line.text);
      case 'response':
        return this.#settle({ kind: 'response', response: line.response });
      case 'wrong':
        return this.#fail({ kind: 'failed', error: `the driver wrote a line of another shape: ${line.problem}` });
    }
  }

  #settle(outcome: DriverOutcome): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.settle(outcome);
  }

  #fail(fault: DriverOutcome): void {
    if (this.#fault !== null) return;
    this.#fault = fault;
    void endProcess(this.#launched, this.#settings.endGraceMs);
    this.#settle(fault);
  }
}
