/** Runs a coding program once and reads its lines. */

import { endProcess, OutputTail, readLines, type OutputLine } from '@svc/sandbox/launched-process.ts';
import type { LaunchedProcess } from '@svc/sandbox/launcher.ts';
import type { DriverOutcome, InferenceCall } from '../driver.ts';
import { exitSentence, maxLineBytes, readDriverLine, stderrHeadBytes, stderrTailBytes } from '../driver-lines.ts';
import type { CliDecoder, CliEvent } from './cli-dialect.ts';

interface ProgramRunOptions {
  readonly launched: LaunchedProcess;
  readonly decoder: CliDecoder;
  /** The name of the program in messages. */
  readonly name: string;
  readonly call: Pick<InferenceCall, 'onText' | 'onThinking' | 'onSign' | 'signal'>;
  /** How long the program may take to end after its result, and again after it was asked to. */
  readonly endGraceMs: number;
}

/** One run of a program, from its first line to its end. */
export class ProgramRun {
  readonly #options: ProgramRunOptions;
  readonly #stderr = new OutputTail(stderrTailBytes, stderrHeadBytes);
  #outcome: DriverOutcome | null = null;
  #ending: NodeJS.Timeout | null = null;
  /** Whether anything of it has been shown. */
  showed = false;

  constructor(options: ProgramRunOptions) {
    this.#options = options;
  }

  /** Follows the program until it and all it started are over. */
  async follow(stdin: string): Promise<DriverOutcome> {
    const { launched, call, name, decoder } = this.#options;
    const onAbort = (): void => this.fail('the inference call was canceled');
    call.signal.addEventListener('abort', onAbort, { once: true });
    if (call.signal.aborted) onAbort();
    else launched.stdin?.end(stdin);
    const reading = this.#stderr.read(launched.stderr);
    let midLine = false;
    for await (const line of readLines(launched.stdout, maxLineBytes)) midLine = this.#take(line);
    this.#endSoon();
    const [end] = await Promise.all([launched.ended, reading]);
    if (this.#ending !== null) clearTimeout(this.#ending);
    call.signal.removeEventListener('abort', onAbort);
    if (this.#outcome !== null) return this.#outcome;
    const stderr = [decoder.lastError() ?? '', this.#stderr.text()].filter((text) => text !== '').join('\n');
    return { kind: 'failed', error: exitSentence(name, { end, midLine, stderr }) };
  }

  /** Ends the program at once. What it came to before stays. */
  fail(error: string): void {
    this.#fault({ kind: 'failed', error });
  }

  /** Handles one line. True when it is a part of one. */
  #take(line: OutputLine): boolean {
    if (this.#outcome !== null) return false;
    const { call, decoder, name } = this.#options;
    call.onSign?.();
    const reading = readDriverLine(line, name);
    if (reading.kind === 'fault') this.#fault(reading.outcome);
    if (reading.kind === 'value') for (const event of decoder.decode(reading.value)) this.#handle(event);
    return reading.kind === 'part';
  }

  #handle(event: CliEvent): void {
    const { call } = this.#options;
    switch (event.kind) {
      case 'text':
        this.showed = true;
        return call.onText(event.text);
      case 'thinking':
        this.showed = true;
        return call.onThinking(event.text);
      case 'failed':
        return this.fail(event.error);
      case 'response':
        this.#outcome ??= { kind: 'response', response: event.response };
        return this.#endSoon();
    }
  }

  /** A program that has answered still writes its own memory of the conversation; one that stays is ended. */
  #endSoon(): void {
    const { launched, endGraceMs } = this.#options;
    this.#ending ??= setTimeout(() => void endProcess(launched, endGraceMs), endGraceMs);
  }

  #fault(outcome: DriverOutcome): void {
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    void endProcess(this.#options.launched, this.#options.endGraceMs);
  }
}
