/** What happens in a session beyond its frames, and how it is written to the connections that ask for it. */

import { encodeAskedApproval } from './approval.ts';
import type { Question } from './question.ts';

/** Tokens that the model's provider counted. */
export interface TokenCount {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A task that has not ended. */
export interface LiveTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: string;
  /** How it reached the capsule, as `task_received` has it; empty where a capsule does not say. */
  readonly origin: string;
  /** How its text begins: at most 200 characters. */
  readonly text: string;
  readonly question: Question | null;
}

/** Where a session stands as a connection opens; the first of its events. */
export interface Snapshot {
  readonly event: 'snapshot';
  readonly sessionId: string;
  readonly name: string;
  readonly version: string;
  readonly model: string;
  /** The class of containment that was achieved. */
  readonly containment: string;
  /** What `POST /` answers to requests with the header, beside what the card lists. */
  readonly methods: readonly string[];
  /** The tokens of the session so far. */
  readonly usage: TokenCount;
  /** The running one first, then those that wait, the next first. */
  readonly tasks: readonly LiveTask[];
  /** How many more wait than `tasks` holds. */
  readonly tasksLeftOut: number;
  /** The skills that a task can begin with; missing without any. */
  readonly skills?: readonly string[];
}

interface OfTask {
  readonly taskId: string;
}

interface OfTurn extends OfTask {
  /** Counts from 1 in each attempt. */
  readonly turn: number;
}

interface OfCall extends OfTurn {
  /** The provider's; null where it gave none, or one of more than 1,024 characters, which no reader takes of a frame either. */
  readonly callId: string | null;
  readonly toolName: string;
}

/** How long a driver waits before it asks the model again. */
export interface RetryWaiting {
  /** The status of the answer that refused the request; null without an answer. */
  readonly status: number | null;
  readonly waitMs: number;
  /** Which of the repetitions it will be, from 1, and how many there may be. */
  readonly attempt: number;
  readonly of: number;
}

/** One thing that happens; texts are without secrets and have bounds. Durations are whole milliseconds. */
export type LiveEvent =
  | Snapshot
  | ({
      readonly event: 'task_received';
      readonly contextId: string;
      readonly origin: string;
      /** As whom the sender is known; null for a task that the session was started with or gave itself. */
      readonly principal: string | null;
      readonly text: string;
      readonly textCut: boolean;
      /** Tasks that come before it, the running one among them; 0 where it starts at once. */
      readonly queued: number;
    } & OfTask)
  /** The first attempt is 1. */
  | ({ readonly event: 'task_started'; readonly attempt: number } & OfTask)
  | ({ readonly event: 'waiting_for_model' } & OfTurn)
  /** The driver asks the model again, at once or after `wait`. */
  | ({ readonly event: 'retry'; readonly reason: string; readonly wait: RetryWaiting | null } & OfTurn)
  | ({
      readonly event: 'usage';
      readonly model: string;
      readonly durationMs: number;
      /** The tokens of the session so far. */
      readonly total: TokenCount;
    } & TokenCount &
      OfTurn)
  | ({
      readonly event: 'call_start';
      /** JSON; null where `argumentsText` stands for it. */
      readonly arguments: unknown;
      /** The JSON text of arguments with numbers that JavaScript rounds, or the beginning of those that are too long; else null. */
      readonly argumentsText: string | null;
    } & OfCall)
  /** What a command writes while its call lasts: the end of what came since the piece before. */
  | ({
      readonly event: 'output';
      readonly text: string;
      /** Bytes in front of it that are not sent. */
      readonly leftOut: number;
    } & OfCall)
  | ({
      readonly event: 'call_end';
      readonly exitCode: number | null;
      readonly isError: boolean;
      /** A hook kept it from running. */
      readonly denied: boolean;
      readonly durationMs: number;
      /** Its number in the journal, as `svc trace steps` shows it; null where it has none. */
      readonly step: number | null;
    } & OfCall)
  /** A call was refused; `what` names its tool, `reason` is what the model reads. */
  | ({ readonly event: 'refusal'; readonly what: string; readonly reason: string } & OfTask)
  | ({ readonly event: 'question' } & Question)
  | ({
      readonly event: 'question_settled';
      readonly waitId: string;
      /** `answered`, `timed-out` or `canceled`. */
      readonly end: string;
      /** Is null without an answer, or if a capsule does not say it. */
      readonly answer: string | null;
    } & OfTask)
  /** The task is over for good: no hook reopens it. */
  | ({
      readonly event: 'task_settled';
      readonly state: string;
      /** Why it failed, in the words of the trace; else null. */
      readonly reason: string | null;
      /** The turns of all attempts; `usage` counts all attempts too. */
      readonly turns: number;
      readonly usage: TokenCount;
      /** Since its first attempt began. */
      readonly durationMs: number;
    } & OfTask);

/** An event as it is written to one connection: as a frame without an id. */
export function encodeLiveEvent(event: LiveEvent): string {
  return `event: ${event.event}\ndata: ${JSON.stringify(dataOf(event))}\n\n`;
}

function dataOf(event: LiveEvent): Readonly<Record<string, unknown>> {
  if (event.event === 'snapshot') return snapshotData(event);
  const { taskId: task_id } = event;
  switch (event.event) {
    case 'task_received': {
      const { contextId: context_id, origin, principal, text, textCut: text_cut, queued } = event;
      return { task_id, context_id, origin, principal, text, text_cut, queued };
    }
    case 'task_started':
      return { task_id, attempt: event.attempt };
    case 'waiting_for_model':
      return { task_id, turn: event.turn };
    case 'retry':
      return { task_id, turn: event.turn, reason: event.reason, ...waitData(event.wait) };
    case 'usage': {
      const { turn, model, durationMs: duration_ms, total } = event;
      return { task_id, turn, model, ...tokens(event), duration_ms, total: tokens(total) };
    }
    case 'call_start': {
      const { turn, callId: call_id, toolName: tool_name, argumentsText: arguments_text } = event;
      const given = arguments_text === null ? { arguments: event.arguments } : { arguments_text };
      return { task_id, turn, call_id, tool_name, ...given };
    }
    case 'output': {
      const { turn, callId: call_id, toolName: tool_name, text, leftOut: left_out } = event;
      return { task_id, turn, call_id, tool_name, text, left_out };
    }
    case 'call_end': {
      const { turn, callId: call_id, toolName: tool_name, denied, step } = event;
      const { exitCode: exit_code, isError: is_error, durationMs: duration_ms } = event;
      return { task_id, turn, call_id, tool_name, exit_code, is_error, denied, duration_ms, step };
    }
    case 'refusal':
      return { task_id, what: event.what, reason: event.reason };
    case 'question':
      return { task_id, ...questionData(event) };
    case 'question_settled':
      return { task_id, wait_id: event.waitId, end: event.end, answer: event.answer };
    case 'task_settled': {
      const { state, reason, turns, usage, durationMs: duration_ms } = event;
      return { task_id, state, reason, turns, usage: tokens(usage), duration_ms };
    }
  }
}

function snapshotData(snapshot: Snapshot): Readonly<Record<string, unknown>> {
  const { sessionId: session_id, name, version, model, containment, methods, usage, tasks } = snapshot;
  return {
    session_id,
    name,
    version,
    model,
    containment,
    methods,
    usage: tokens(usage),
    tasks: tasks.map(({ taskId: task_id, contextId: context_id, state, origin, text, question }) => {
      const asked = question === null ? null : questionData(question);
      return { task_id, context_id, state, origin, text, question: asked };
    }),
    tasks_left_out: snapshot.tasksLeftOut,
    ...(snapshot.skills === undefined ? {} : { skills: snapshot.skills }),
  };
}

function waitData(wait: RetryWaiting | null): Readonly<Record<string, number | null>> {
  return wait === null ? {} : { status: wait.status, wait_ms: wait.waitMs, attempt: wait.attempt, of: wait.of };
}

function tokens({
  inputTokens: input_tokens,
  outputTokens: output_tokens,
}: TokenCount): Readonly<Record<string, number>> {
  return { input_tokens, output_tokens };
}

function questionData({ waitId: wait_id, prompt, approval }: Question): Readonly<Record<string, unknown>> {
  return { wait_id, prompt, ...(approval === undefined ? {} : { approval: encodeAskedApproval(approval) }) };
}
