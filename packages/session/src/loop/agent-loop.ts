/** Asks the model, carries out its calls, and asks again until a task is done. */

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import type { HookedTask, SessionHooks } from '../hooks/session-hooks.ts';
import {
  type Driver,
  type DriverOutcome,
  type DriverTask,
  type InferenceCall,
  type InferenceRequest,
  type Message,
  judgeResponse,
  type ToolCallBlock,
} from '../model/driver.ts';
import type { TaskWidening } from '../approvals/wanted-grants.ts';
import type { Inventory } from '../tools/inventory.ts';
import type { CountedOutcome, SessionActivity } from '../task/activity.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { maxRetriesTraced } from '../recorder/shown-chunks.ts';
import type { SpendMeter } from '../model/spend-meter.ts';
import type { TaskFailure } from '../task/task.ts';
import type { CallVerdict, CheckedCall, DispatchedCall, InputAnswer } from '../tools/tool.ts';
import type { WorkdirSize } from '../workdir/workdir-size.ts';
import type { Attempt } from './attempt.ts';
import { CallLines } from './call-lines.ts';
import type { Compaction, FolderRules } from './compacted-context.ts';
import {
  type ContextLimit,
  ContextWindow,
  conversationLength,
  maxConversation,
  type Overflow,
} from './context-window.ts';
import { HeldBack, type MiddleJudges } from './held-back.ts';
import { WayToModel } from './way-to-model.ts';

interface InferenceSettings {
  readonly model: string;
  readonly system: string;
  readonly maxTurns: number;
  readonly maxTokens: number;
  /** When the conversation is to be compacted. */
  readonly context: ContextLimit;
}

export interface AgentLoopDeps extends FolderRules, MiddleJudges {
  readonly driver: Driver;
  readonly inventory: Inventory;
  readonly inference: InferenceSettings;
  readonly spend: SpendMeter;
  readonly activity: SessionActivity;
  readonly recorder: Recorder;
  readonly clock: Clock;
  /** Throws the Diagnostic that ends the session when the workdir has outgrown its limit. */
  readonly workdirSize: Pick<WorkdirSize, 'begin' | 'check' | 'settled' | 'last' | 'breached'>;
  readonly requestInput: (prompt: string) => Promise<InputAnswer>;
  /** Is null if every call runs that hooks let pass. */
  readonly approve: ((call: CheckedCall) => Promise<CallVerdict>) | null;
  /** Is null where nobody is asked to grant anything. */
  readonly widening: TaskWidening | null;
  readonly hooks: SessionHooks;
  /** The task at hand, as its hooks see it. */
  readonly hooked: HookedTask;
  /** Inference turns that earlier attempts of the task used: all share `inference.maxTurns`. */
  readonly turnsUsed: number;
}

/** How often the workdir is measured while a call runs, at most. */
const measureEveryMs = 1_000;

/** How an attempt ended, before anything final is written. A cancel arrives as a rejection with `TaskCanceled`. */
export type AttemptEnd =
  | { readonly kind: 'completed'; readonly reply: string; readonly replyWasStreamed: boolean }
  | TaskFailure;

export interface AttemptResult {
  readonly end: AttemptEnd;
  /** The conversation with everything the attempt added. */
  readonly messages: readonly Message[];
}

/** Inference turns and tool calls until the model stops, an end is forced, or the turns are used up (D1 "Task states"). */
export async function runAttempt(
  attempt: Attempt,
  history: readonly Message[],
  context: AgentLoopDeps,
): Promise<AttemptResult> {
  const driverTask = context.driver.openTask();
  const loop = new AgentLoop(attempt, history, { ...context, driverTask });
  try {
    const end = await loop.run();
    return { end, messages: loop.messages };
  } finally {
    await driverTask.close();
  }
}

/** Carries out one call as if the model had made it, waits for its end however long that takes, and asks no model. */
export async function runCall(attempt: Attempt, call: ToolCallBlock, context: AgentLoopDeps): Promise<DispatchedCall> {
  return await new AgentLoop(attempt, [], { ...context, driverTask: null }).carryOut(call);
}

type TurnEnd = { readonly kind: 'next' } | AttemptEnd;

const conversationTooLong: AttemptEnd = {
  kind: 'failed',
  error: `the conversation holds more than ${maxConversation} characters, which no model takes`,
};

/** `driverTask` is null where no model is asked. */
type LoopDeps = AgentLoopDeps & { readonly driverTask: DriverTask | null };

class AgentLoop {
  readonly messages: Message[];
  readonly #attempt: Attempt;
  readonly #deps: LoopDeps;
  readonly #window: ContextWindow;
  /** Aborted when nobody wants an answer any more, of the model or a tool. */
  readonly #signal: AbortSignal;
  /** Calls of the turn at hand. */
  #calls = 0;
  #hasCalled = false;
  #continuationId: string | undefined;

  constructor(attempt: Attempt, history: readonly Message[], deps: LoopDeps) {
    this.messages = [...history];
    this.#attempt = attempt;
    this.#deps = deps;
    this.#window = new ContextWindow(deps.inference.context);
    this.#signal = AbortSignal.any([attempt.task.signal, deps.workdirSize.breached]);
  }

  async run(): Promise<AttemptEnd> {
    const { inference, turnsUsed } = this.#deps;
    // Commands in the background write between tasks too.
    await this.#checkSize();
    for (let turn = 1; turnsUsed + turn <= inference.maxTurns; turn += 1) {
      const end = await this.#turn(turn);
      if (end.kind !== 'next') return end;
    }
    return { kind: 'turns-exhausted', maxTurns: inference.maxTurns };
  }

  async carryOut(call: ToolCallBlock): Promise<DispatchedCall> {
    await this.#checkSize();
    this.#attempt.announce({ kind: 'turn-started', turn: 1 });
    const done = await this.#dispatch(1, call);
    await this.#checkSize();
    return done;
  }

  async #turn(turn: number): Promise<TurnEnd> {
    this.#attempt.throwIfCanceled();
    this.#attempt.beginTurn(turn);
    this.#calls = 0;
    const compaction = await this.#compact();
    this.#attempt.throwIfCanceled();
    if (compaction.kind === 'failed') return compaction;
    if (conversationLength(this.messages) > maxConversation) return conversationTooLong;
    const request = this.#request();
    const refusal = this.#deps.spend.check(request);
    if (refusal !== null) return { kind: 'spend-refused', refusal };
    const { outcome, streamedText } = await this.#infer(turn, request);
    // A large workdir is measured while the model is asked; nothing is done with the answer before.
    await this.#settleSize();
    this.#attempt.throwIfCanceled();
    if (outcome.kind !== 'response') return (await this.#makesRoom(request, outcome)) ? { kind: 'next' } : outcome;
    const { model } = request;
    await this.#deps.hooks.inferred(this.#deps.hooked, { turn, model, ...outcome });
    this.#attempt.throwIfCanceled();
    return await this.#act(turn, outcome, streamedText);
  }

  async #compact(): Promise<Compaction> {
    const overflow = this.#window.overflow(this.#request());
    return overflow === null ? { kind: 'none' } : await this.#compactAt(overflow);
  }

  /** Whether the conversation is shorter now, which its provider found too long; not a second time for the same answer (docs/hooks.md "Events"). */
  async #makesRoom(
    request: InferenceRequest,
    outcome: Exclude<CountedOutcome, { kind: 'response' }>,
  ): Promise<boolean> {
    const overflow = outcome.kind === 'failed' ? this.#window.refused(request, outcome.error) : null;
    if (overflow === null) return false;
    const { kind } = await this.#compactAt(overflow);
    this.#attempt.throwIfCanceled();
    return kind === 'replaced';
  }

  async #compactAt(overflow: Overflow): Promise<Compaction> {
    const { task } = this.#attempt;
    const { compact } = await import('./compacted-context.ts');
    const compaction = await compact([...this.messages], overflow, {
      ...this.#deps,
      record: (event) => this.#deps.activity.emit({ kind: 'noted', task, event }),
    });
    if (compaction.kind === 'replaced') this.#continueFrom(compaction.messages);
    return compaction;
  }

  /** Drops the id under which the provider keeps the longer conversation. */
  #continueFrom(messages: readonly Message[]): void {
    this.messages.splice(0, this.messages.length, ...messages);
    this.#window.replaced();
    this.#continuationId = undefined;
  }

  #request(): InferenceRequest {
    const { model, system, maxTokens } = this.#deps.inference;
    return {
      model,
      system,
      messages: [...this.messages],
      tools: this.#deps.inventory.definitions,
      maxTokens,
      ...(this.#continuationId === undefined ? {} : { continuationId: this.#continuationId }),
    };
  }

  async #infer(turn: number, request: InferenceRequest): Promise<{ outcome: CountedOutcome; streamedText: boolean }> {
    const { activity, clock, driverTask, inventory, spend } = this.#deps;
    const { task } = this.#attempt;
    const startMs = clock.now();
    const startedMs = clock.monotonicMs();
    const way = new WayToModel(() => elapsedMs(clock, startedMs));
    activity.emit({ kind: 'inference-started', task, turn, request });
    const retries: string[] = [];
    // Sets aside what the call may cost until it is counted: a hook may ask the model meanwhile.
    const release = spend.hold(request);
    try {
      if (driverTask === null) throw new Error('a loop without a driver asks no model');
      const answer = driverTask.infer(request, this.#call(turn, way, retries));
      inventory.warm();
      const { outcome: driven, streamedText } = await this.#attempt.inferred(answer);
      const outcome = this.#count(request, driven);
      const durationMs = elapsedMs(clock, startedMs);
      const { host, firstMs } = way;
      const seen = { retries, host, firstMs, startMs, durationMs };
      activity.emit({ kind: 'inference-ended', task, turn, request, outcome, ...seen });
      return { outcome, streamedText };
    } finally {
      release();
    }
  }

  #call(turn: number, way: WayToModel, retries: string[]): InferenceCall {
    const { activity, workdirSize } = this.#deps;
    const attempt = this.#attempt;
    const { task } = attempt;
    return {
      place: `${attempt.place}/m${turn}`,
      signal: this.#signal,
      onText: (text) => {
        way.onFirstByte();
        attempt.text(text);
      },
      onThinking: (text) => {
        way.onFirstByte();
        attempt.thinking(text);
      },
      onRequest: (host) => way.asked(host),
      onFirstBytes: () => way.onFirstByte(),
      callTool: async (block) => {
        const { content, isError } = await this.#dispatch(turn, block);
        workdirSize.begin();
        return { content, isError };
      },
      onRetryWait: (wait, why) => activity.emit({ kind: 'retry-waits', task, turn, wait, why }),
      onRetry: (reason) => {
        if (retries.length < maxRetriesTraced) retries.push(reason);
        activity.emit({ kind: 'retried', task, turn, reason });
      },
    };
  }

  #count(request: InferenceRequest, outcome: DriverOutcome): CountedOutcome {
    if (outcome.kind !== 'response') return outcome;
    const usage = this.#deps.spend.record(request, outcome.response);
    this.#attempt.addUsage(usage);
    return { ...outcome, usage };
  }

  async #act(
    turn: number,
    { response, usage }: Extract<CountedOutcome, { kind: 'response' }>,
    replyWasStreamed: boolean,
  ): Promise<TurnEnd> {
    const verdict = judgeResponse(response);
    this.#continuationId = response.continuationId;
    if (verdict.kind === 'failed') return verdict;
    this.messages.push({ role: 'assistant', content: response.content });
    this.#window.measured(this.messages, usage);
    if (verdict.kind === 'complete') {
      await this.#measureLast();
      return { kind: 'completed', reply: verdict.reply, replyWasStreamed };
    }
    for (const block of verdict.calls) {
      if (conversationLength(this.messages) > maxConversation) return conversationTooLong;
      const { content, isError } = await this.#dispatch(turn, block);
      this.messages.push({ role: 'tool', toolCallId: block.id, isError, content: [{ type: 'text', text: content }] });
    }
    await this.#checkSize();
    return { kind: 'next' };
  }

  async #dispatch(turn: number, block: ToolCallBlock): Promise<DispatchedCall> {
    const { activity, recorder, hooks, hooked, inventory, requestInput, approve, widening } = this.#deps;
    const { task } = this.#attempt;
    this.#attempt.throwIfCanceled();
    activity.emit({ kind: 'call-started', task, turn, call: block });
    const lines = new CallLines((event) => activity.emit({ kind: 'noted', task, event }));
    this.#calls += 1;
    this.#hasCalled = true;
    const place = `${this.#attempt.place}/m${turn}/t${this.#calls}`;
    const at = { task, turn, callId: block.id === '' ? null : block.id, place };
    const { held } = lines;
    const heldBack = new HeldBack(this.#deps, held);
    const stopMeasuring = this.#measureMeanwhile();
    const done = await inventory
      .dispatch(block, {
        taskId: task.id,
        place,
        settle: (look) => recorder.settle(`${place}/look`, look),
        signal: this.#signal,
        isAwaited: this.#deps.driverTask === null,
        judge: async (call) => {
          const { place: _, ...judged } = call;
          const verdict = await hooks.judgeCall(hooked, { ...judged, turn });
          if (approve === null || verdict.kind === 'deny') return verdict;
          this.#signal.throwIfAborted();
          return await held(() => approve(call));
        },
        approveChange: heldBack.approve,
        requestsOf: heldBack.requestsOf,
        programsOf: heldBack.programsOf,
        emitText: (text) => this.#attempt.text(text),
        emitThinking: (text) => this.#attempt.thinking(text),
        onOutput: (command, bytes) => activity.output?.wrote(at, command, bytes),
        onJudged: (call) => activity.emit({ kind: 'call-judged', task, call }),
        onRefusedFile: (file) => activity.emit({ kind: 'file-refused', task, file }),
        onFileChanged: activity.files === null ? undefined : (change) => activity.files?.(task, change),
        record: (event) => lines.record(event),
        requestInput: (prompt) => held(() => requestInput(prompt)),
        hosts: widening?.hosts(place, held),
      })
      .finally(() => {
        stopMeasuring();
        activity.output?.over(at);
        if (this.#signal.aborted) lines.settle();
      });
    this.#attempt.throwIfCanceled();
    // A tool takes any failure of what it asks for an answer: one of the runtime's own must not end there.
    lines.throwIfFailed();
    const { input, digits } = block;
    const dispatched = {
      ...done,
      content: heldBack.behind(done.content, await widening?.ended({ call: done, place })),
    };
    activity.emit({ kind: 'call-ended', task, turn, input, digits, call: dispatched, step: recorder.stepOf(place) });
    lines.settle();
    lines.throwIfFailed();
    return dispatched;
  }

  async #checkSize(): Promise<void> {
    await this.#measured('size', () => this.#deps.workdirSize.check());
  }

  async #settleSize(): Promise<void> {
    await this.#measured('size', () => this.#deps.workdirSize.settled(this.#signal));
  }

  async #measureLast(): Promise<void> {
    // Who has called nothing has written nothing.
    if (!this.#hasCalled) return;
    await this.#measured('last-size', () => this.#deps.workdirSize.last(this.#signal));
    this.#attempt.throwIfCanceled();
  }

  async #measured(name: string, measure: () => Promise<void>): Promise<void> {
    await this.#deps.recorder.settle(`${this.#attempt.place}/${name}`, async () => {
      await measure();
      return null;
    });
  }

  /** A call that fills the workdir is ended before it has filled the disk. Gives what ends the measuring. */
  #measureMeanwhile(): () => void {
    const { clock, workdirSize } = this.#deps;
    const again = (): void => {
      workdirSize.begin();
      cancelTimer = clock.after(measureEveryMs, again);
    };
    let cancelTimer = clock.after(measureEveryMs, again);
    return () => cancelTimer();
  }
}
