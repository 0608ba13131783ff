/** Runs a capsule for a script: `svc -p` gives the answer on standard output, or the reason for no answer on standard error. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type {
  RunChanges,
  RunningCapsule,
  Steering,
  RunObserver,
  RunOutcome,
} from '@svc/capsule/launch/running-capsule.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { elapsedMs } from '@svc/kit/clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { durationShape, maxTimerMs, secondsOf, wholeMs } from '@svc/kit/units.ts';
import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import type { FailedTask, Task } from '@svc/session/task/task.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { diagnosticsIn, render } from '@svc/terminal/screen/render-failure.ts';
import type { Shown } from '@svc/terminal/screen/shown.ts';
import { encodeReason, failureReason } from './failure-reason.ts';
import { hintsFor } from './provider-hint.ts';
import type { OutputFormat, RefusedThing, RunResult } from './run-result.ts';
import { ScriptOutput } from './script-output.ts';
import { taskOfScript } from './script-task.ts';

/** What of the command line decides about a script; `svc run` has more. */
export interface ScriptOptions {
  /** True for `-p` without a text. */
  readonly print?: string | true;
  readonly output?: OutputFormat;
  readonly timeout?: string;
  readonly maxTokens?: number;
  readonly maxCost?: string;
  readonly task?: string;
  readonly manifest: string;
  readonly capsule?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly explainScope?: boolean;
  readonly replay?: string | true;
  readonly spawnApprovalStdin?: boolean;
  /** No manifest is looked for. */
  readonly isAdhoc?: true;
}

/** Goes along with a run, to show and to say more of it than a script wants. */
export interface ScriptCompanion extends Pick<RunObserver, 'onListening'> {
  readonly onActivity: (activity: Activity) => void;
  /** The manifest that was made for the task; null where a file has it. */
  readonly manifestText: string | null;
  /** Whether the answer has been shown already. */
  readonly hasShown: boolean;
  /** Whether a person can answer questions. */
  readonly isAnswering: boolean;
  /** Gives the terminal back; called before anything is said of the end. */
  close(): Promise<void>;
  /** Rows of standard error go through this. */
  say(rows: Shown): void;
  /** What was refused, once the session is over. */
  refused(): readonly RefusedThing[];
  /** The last rows of standard error. */
  lastRows(): Shown;
}

/** The clean stop of the session. */
interface Stop {
  readonly signal: AbortSignal;
  request(): void;
}

/** What a shell says of a program that SIGPIPE ended. */
const nobodyReads = 141;

/** Checks the command line, which `usage` refuses, and prepares the run. */
export function openScript(
  options: ScriptOptions,
  {
    context,
    stop,
    usage,
    companion = null,
  }: { context: CommandContext; stop: Stop; usage: (problem: string) => never; companion?: ScriptCompanion | null },
): ScriptRun {
  if (options.maxCost !== undefined)
    usage('--max-cost needs the prices of models, and this svc has none: --max-tokens limits tokens');
  if (options.print === undefined && options.output === undefined)
    usage('--timeout and --max-tokens go with -p or --output');
  if (options.json !== undefined) usage('--json goes with svc run: --output json writes one object for a script');
  const others = { verbose: '-v', explainScope: '--explain-scope', replay: '--replay' } as const;
  const where = {
    verbose: 'goes with svc run, without -p and --output; svc --version says which version this is',
    explainScope: 'does not go with -p and --output',
    replay: 'does not go with -p and --output',
  } as const;
  for (const [key, flag] of Object.entries(others))
    if (options[key as keyof typeof others] !== undefined) usage(`${flag} ${where[key as keyof typeof others]}`);
  if (options.spawnApprovalStdin === true) usage('a delegated capsule is not started with -p');
  if (typeof options.print === 'string' && options.task !== undefined)
    usage('give the task with -p or with --task, not with both');
  return new ScriptRun(options, { context, stop, timeoutMs: timeoutOf(options, usage), companion });
}

function timeoutOf({ timeout }: ScriptOptions, usage: (problem: string) => never): number | null {
  if (timeout === undefined) return null;
  const ms = durationShape.test(timeout) ? wholeMs(secondsOf(timeout) ?? 0) : 0;
  if (ms < 1 || ms > maxTimerMs) usage('--timeout must be a time such as 90s, 5m or 2h, of at most 596h');
  return ms;
}

interface ScriptSurroundings {
  readonly context: CommandContext;
  readonly stop: Stop;
  readonly timeoutMs: number | null;
  readonly companion: ScriptCompanion | null;
}

/** One run for a script: hears of the session, and says at its end what came of it. */
class ScriptRun implements RunObserver {
  readonly #options: ScriptOptions;
  readonly #context: CommandContext;
  readonly #stop: Stop;
  readonly #output: ScriptOutput;
  readonly #companion: ScriptCompanion | null;
  readonly #startedMs = systemClock.monotonicMs();
  readonly #timer: NodeJS.Timeout | undefined;
  #capsule: RunningCapsule | null = null;
  /** The task that was given, then those in which the session goes on with what that left running. */
  #task: Task | null = null;
  #turns = 0;
  #usage = { inputTokens: 0, outputTokens: 0 };
  /** How many input tokens the provider had in its cache; null until it says so of a call. */
  #cached: number | null = null;
  #failure: FailedTask | null = null;
  #isSpent = false;
  /** Whether the model's last words ended at its limit of tokens. */
  #isShortened = false;
  /** Why svc itself ended the task. */
  #cutOff: Diagnostic | null = null;
  readonly #refused: RefusedThing[] = [];
  #isReported = false;

  constructor(options: ScriptOptions, { context, stop, timeoutMs, companion }: ScriptSurroundings) {
    this.#companion = companion;
    this.#options = options;
    this.#context = context;
    this.#stop = stop;
    this.#output = new ScriptOutput(context.stdout, options.output ?? 'text', () => stop.request());
    if (timeoutMs !== null) this.#timer = setTimeout(() => this.#end(timedOut(options.timeout ?? '')), timeoutMs);
    process.on('exit', this.#onExit);
  }

  /** What the launch takes of it. */
  get changes(): RunChanges {
    return {
      settle: (manifest) => settled(manifest, this.#options.maxTokens),
      task: async (find) =>
        await taskOfScript(this.#options, { context: this.#context, stop: this.#stop.signal, find }),
    };
  }

  onWarning(warning: Diagnostic): void {
    this.say(render([warning], this.#context));
  }

  onListening(capsule: RunningCapsule, steering: Steering): void {
    this.#capsule = capsule;
    const { sessionId: session, reachableAt: url, pid, name, version, workdir, driver, model } = capsule;
    this.#output.line({ type: 'session', session, url, pid, name, version, workdir, driver, model });
    this.#companion?.onListening(capsule, steering);
    this.#context.onStarted?.();
  }

  onFrame(frame: NumberedFrame, id: EventId): void {
    this.#output.frame(frame, id);
  }

  onTaskFailed(failed: FailedTask): void {
    this.#failure = failed;
  }

  onRetained(): void {}

  /** Says what the session came to; the exit code. */
  async ended(outcome: RunOutcome): Promise<number> {
    await this.#companion?.close();
    const reason = this.#reasonOf(outcome);
    this.#report(reason, outcome.status === 'trapped' ? 'trapped' : reason === null ? 'ok' : 'failed');
    return await this.#exitCode(outcome.status === 'trapped' ? 2 : reason === null ? 0 : 1);
  }

  /** The same of a launch that was refused, or a session that broke. Anything but a Diagnostic is thrown on. */
  async failed(error: unknown): Promise<number> {
    await this.#companion?.close();
    const found = this.#withoutManifest() ?? diagnosticsIn(error);
    const [first] = this.#cutOff === null ? (found ?? []) : [this.#cutOff];
    if (found === null || first === undefined) throw error;
    this.#report(first, 'failed', this.#cutOff === null ? found : [first]);
    return await this.#exitCode(1);
  }

  /** Returns null where the manifest is there, or the capsule of a store was asked for. */
  #withoutManifest(): readonly Diagnostic[] | null {
    const { manifest, capsule } = this.#options;
    if (this.#options.isAdhoc === true) return null;
    if (capsule !== undefined || existsSync(resolve(this.#context.cwd, manifest))) return null;
    const message = `svc run -p runs the capsule of a manifest, and there is no file ${manifest}`;
    const hint = 'svc -p "<task>", without run and without --manifest, needs none; svc new capsule <name> makes one';
    return [new Diagnostic('E-IO-001', message, { hint })];
  }

  /** Hears of everything that happens in the session. */
  note(activity: Activity): void {
    this.#companion?.onActivity(activity);
    if (activity.kind === 'spend-refused') this.#isSpent = true;
    if (activity.kind === 'retried') this.#output.line({ type: 'retry', reason: activity.reason });
    if (activity.kind === 'inference-ended') this.#count(activity);
    if (activity.kind === 'task-settled') this.#settle(activity.task);
    if (activity.kind === 'call-ended' && activity.call.denied)
      this.#refused.push({ kind: 'call', what: activity.call.toolName, flag: null });
    if (activity.kind === 'call-judged' && activity.call.refusal?.rule.startsWith(rulesOfSkills) === true)
      this.#refused.push({ kind: 'call', what: activity.call.name, flag: null });
    if (activity.kind !== 'question') return;
    if (activity.question.approval !== undefined && this.#companion?.isAnswering === true) return;
    // Reported first, then ended: the listeners behind this one hear of the question too.
    setImmediate(() => this.#end(unanswered(activity.question.prompt)));
  }

  #count({ outcome, turn }: Extract<Activity, { kind: 'inference-ended' }>): void {
    if (outcome.kind !== 'response') return;
    this.#isShortened = outcome.response.stopReason === 'max_tokens';
    const { inputTokens, outputTokens } = outcome.usage;
    this.#usage.inputTokens += inputTokens;
    this.#usage.outputTokens += outputTokens;
    const cached = outcome.response.usage?.cacheReadTokens ?? null;
    if (cached !== null) this.#cached = (this.#cached ?? 0) + cached;
    const tokens = { input_tokens: inputTokens, output_tokens: outputTokens, cache_read_tokens: cached };
    this.#output.line({ type: 'usage', turn, ...tokens });
  }

  /** Tasks that clients of the capsule sent are theirs. */
  #settle(task: Task): void {
    if (task.origin !== 'user' && task.origin !== 'completion') return;
    this.#task = task;
    this.#turns += task.turns;
  }

  #end(why: Diagnostic): void {
    this.#cutOff ??= why;
    this.#stop.request();
  }

  /** Returns null when the task was done and nothing went wrong beside it. */
  #reasonOf({ status, trap }: RunOutcome): Diagnostic | null {
    const state = this.#task?.state ?? null;
    if (status === 'ok' && state === 'completed') return isWithoutText(this.#task) ? this.#unsaid() : null;
    if (this.#cutOff !== null && state !== 'completed') return this.#cutOff;
    if (trap !== null) return trap;
    if (this.#failure !== null)
      return failureReason(this.#failure, {
        isSpent: this.#isSpent,
        hintOf: hintsFor(this.#options, this.#context.cwd, this.#companion?.manifestText ?? null),
      });
    if (status === 'trapped') return new Diagnostic('E-RUN-082', 'a component of the driver or of a hook broke off');
    return new Diagnostic(
      'E-RUN-056',
      'the task was canceled: svc was stopped, or a client of the capsule asked for it',
    );
  }

  /** A script takes exit code 0 for an answer. */
  #unsaid(): Diagnostic {
    return new Diagnostic('E-RUN-186', 'the model ended its answer without any text', {
      hint: this.#isShortened
        ? `it reached the most tokens that one may have: ${moreTokens(this.#companion)}`
        : 'what the task has done stays done: ask again, or see with svc trace steps what the model thought and did',
    });
  }

  /** Reason and result, each once; `shown` is all that a person sees. */
  #report(
    reason: Diagnostic | null,
    status: RunResult['status'],
    shown: readonly Diagnostic[] = reason === null ? [] : [reason],
  ): void {
    this.#isReported = true;
    clearTimeout(this.#timer);
    if (this.#output.isUnread) return;
    // A person who canceled it on the terminal has read so in the row of its end.
    const isTold = this.#companion?.hasShown === true && reason?.code === 'E-RUN-056';
    if (reason === null && this.#isShortened) this.onWarning(shortenedAnswer(this.#companion));
    if (shown.length > 0 && !isTold) this.say(render(shown, this.#context));
    const result = this.#resultOf(reason, status);
    if (this.#companion?.hasShown !== true) this.#output.result(result);
    if (this.#companion !== null) this.say(this.#companion.lastRows());
  }

  /** Rows of standard error. */
  say(rows: Shown): void {
    if (this.#companion === null) this.#context.stderr.write(rows);
    else this.#companion.say(rows);
  }

  async #exitCode(code: number): Promise<number> {
    await this.#output.settled();
    process.off('exit', this.#onExit);
    return this.#output.isUnread ? nobodyReads : code;
  }

  /** The process ends before the session has: after a second signal, when a stop takes too long, or for a bug. */
  readonly #onExit = (): void => {
    if (this.#isReported) return;
    const broken = new Diagnostic('E-RUN-080', 'svc ended before its session did');
    this.#report(this.#cutOff ?? broken, 'trapped');
  };

  #resultOf(reason: Diagnostic | null, status: RunResult['status']): RunResult {
    const capsule = this.#capsule;
    const task = this.#task;
    const isDone = task?.state === 'completed';
    return {
      type: 'result',
      session: capsule?.sessionId ?? null,
      task: task?.id ?? null,
      status,
      state: stateOf(task),
      answer: isDone ? answerOf(task) : (task?.unkeptReply ?? null),
      reason: reason === null ? null : encodeReason(reason, this.#failure),
      turns: this.#turns,
      usage: {
        input_tokens: this.#usage.inputTokens,
        output_tokens: this.#usage.outputTokens,
        cache_read_tokens: this.#cached,
      },
      cost: null,
      duration_ms: elapsedMs(systemClock, this.#startedMs),
      files: null,
      refused: [...this.#refused, ...(this.#companion?.refused() ?? [])],
      result_file: capsule === null || (task?.result ?? null) === null ? null : join(capsule.workdir, 'out/result.txt'),
    };
  }
}

/** How the rule begins by which a skill in use does not allow a call. */
const rulesOfSkills = 'allowed-tools of ';

/** The run ends with its task, whatever the manifest says, and with its tokens: the lower of the two ceilings counts. */
function settled(manifest: CapsuleManifest, maxTokens: number | undefined): CapsuleManifest {
  const { inference, lifecycle } = manifest;
  const ceiling = Math.min(maxTokens ?? Infinity, inference.max_session_tokens ?? Infinity);
  return {
    ...manifest,
    inference: { ...inference, ...(ceiling === Infinity ? {} : { max_session_tokens: ceiling }) },
    lifecycle: { ...lifecycle, after_task: 'exit' },
  };
}

function isWithoutText(task: Task | null): boolean {
  return (task?.result ?? '').trim() === '';
}

/** Returns null if it has no text. */
function answerOf(task: Task): string | null {
  return isWithoutText(task) ? null : task.result;
}

function stateOf(task: Task | null): RunResult['state'] {
  const state = task?.state;
  return state === 'completed' || state === 'failed' || state === 'canceled' ? state : null;
}

function shortenedAnswer(companion: ScriptCompanion | null): Diagnostic {
  return new Diagnostic('W-RUN-171', 'the answer is not whole: the model reached the most tokens that one may have', {
    hint: `${moreTokens(companion)}, or ask for less at once`,
  });
}

/** How an answer gets more. A task without a manifest has no option for it. */
function moreTokens(companion: ScriptCompanion | null): string {
  return (companion?.manifestText ?? null) === null
    ? 'raise inference.max_tokens in the manifest'
    : 'raise inference.max_tokens in a manifest that svc new capsule <name> --from <session> makes';
}

function timedOut(given: string): Diagnostic {
  return new Diagnostic('E-RUN-055', `the task did not end within ${given} (--timeout)`, {
    hint: 'give it more time with --timeout; svc trace steps shows how far it came',
  });
}

function unanswered(prompt: string): Diagnostic {
  return new Diagnostic('E-RUN-054', `the capsule asks, and nobody can answer svc -p: ${prompt}`, {
    hint: 'put the answer into the task, or run it with svc run and answer with a message',
  });
}
