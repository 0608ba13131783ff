/** Makes columns of the lines of a trace, and keeps what is needed to say which task and which child a row belongs to. */

import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import type { Block, Child, EndedTask, NewTask, SessionStart } from '@svc/protocol/viewed-rows.ts';
import * as kinds from '@svc/protocol/row-kinds.ts';
import * as flags from '@svc/protocol/row-flags.ts';
import { countIn, objectIn, textIn, textOrNull } from './checked.ts';
import { maxStepMs, readLine, type Row, taskText } from './read-line.ts';

interface Fresh {
  readonly kind: number[];
  readonly flags: number[];
  readonly start: number[];
  readonly duration: number[];
  readonly task: number[];
  readonly input: number[];
  readonly output: number[];
  readonly name: number[];
  readonly names: string[];
  readonly details: string[];
  readonly tasks: NewTask[];
  readonly ends: EndedTask[];
  readonly children: Child[];
  sessionStart: Block['start'];
  hasEvidence: boolean;
}

function nothingFresh(): Fresh {
  const lists = { kind: [], flags: [], start: [], duration: [], task: [], input: [], output: [], name: [] };
  const others = { names: [], details: [], tasks: [], ends: [], children: [] };
  return { ...lists, ...others, sessionStart: null, hasEvidence: false };
}

/** A trace may name any number of things: of tasks and delegations behind so many, rows are of none. */
const [maxNames, maxKept] = [50_000, 200_000];

/** Reads the lines of one trace in their order. */
export class RowBlocks {
  #count = 0;
  readonly #tasks = new Map<string, number>();
  readonly #names = new Map<string, number>();
  /** When delegations began, by their ids. */
  readonly #delegated = new Map<string, number>();
  #nameCount = 0;
  #origin: number | null = null;
  #last = 0;
  #hasStart = false;
  #fresh = nothingFresh();

  /** Lines that were read. */
  get count(): number {
    return this.#count;
  }

  /** Whether there are rows that were not taken. */
  get hasMore(): boolean {
    return this.#fresh.details.length > 0;
  }

  add(line: string): void {
    const fresh = this.#fresh;
    const row = readLine(line);
    const at = this.#timeOf(row.at);
    const duration = row.durationMs || this.#delegationMs(row, at);
    const task = this.#taskOf(row, fresh);
    fresh.kind.push(row.kind);
    fresh.flags.push(row.flags);
    fresh.start.push(this.#startOf(row, at, duration));
    fresh.duration.push(duration);
    fresh.task.push(task);
    fresh.input.push(row.inputTokens);
    fresh.output.push(row.outputTokens);
    fresh.name.push(this.#nameOf(row.name, fresh));
    fresh.details.push(row.detail);
    this.#note(row, { task, row: this.#count, at }, fresh);
    this.#count += 1;
  }

  /** The rows since the last call; null without one. */
  take(): Block | null {
    const { sessionStart: start, hasEvidence, tasks, ends, children, ...lists } = this.#fresh;
    const { length } = lists.details;
    if (length === 0) return null;
    this.#fresh = nothingFresh();
    return { rows: { first: this.#count - length, ...lists }, tasks, ends, children, start, hasEvidence };
  }

  #nameOf(name: string, fresh: Fresh): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const number = this.#nameCount;
    this.#nameCount += 1;
    // A name that is not kept is sent again each time.
    if (this.#names.size < maxNames) this.#names.set(name, number);
    fresh.names.push(name);
    return number;
  }

  /** Milliseconds since the session began; of a time that is missing or not to be believed, that of the row before. */
  #timeOf(at: number | null): number {
    if (at === null) return this.#last;
    this.#origin ??= at;
    const since = at - this.#origin;
    if (Math.abs(since - this.#last) <= maxStepMs) this.#last = since;
    return this.#last;
  }

  /** When a row began that was written at its end: as the line says, or as long before as it took. */
  #startOf({ startedAt }: Row, at: number, duration: number): number {
    const told = startedAt === null ? null : startedAt - (this.#origin ?? 0);
    return Math.max(0, told !== null && told >= 0 && told <= at ? told : at - duration);
  }

  #delegationMs({ kind, event }: Row, at: number): number {
    const id = kind === kinds.child ? textOrNull(event?.['delegation_id'], 128) : null;
    if (id === null) return 0;
    const begun = this.#delegated.get(id);
    if (begun === undefined) {
      if (this.#delegated.size < maxKept) this.#delegated.set(id, at);
      return 0;
    }
    return Math.max(0, at - begun);
  }

  #taskOf({ taskId, event, flags: bits }: Row, fresh: Fresh): number {
    if (taskId === null) return -1;
    const known = this.#tasks.get(taskId);
    if (known !== undefined) return known;
    if (this.#tasks.size === maxKept) return -1;
    const index = this.#tasks.size;
    this.#tasks.set(taskId, index);
    const origin = textIn(event?.['origin'], 20) || 'user';
    fresh.tasks.push({
      index,
      id: taskId,
      firstRow: this.#count,
      text: (event === null ? '' : taskText(event)) || taskId,
      origin,
      // A message is what a person said: its model gets it as it is.
      isUntrusted: (bits & flags.untrusted) !== 0 && origin !== 'message' && origin !== 'user',
      start: Math.max(0, this.#last),
    });
    return index;
  }

  #note(
    { kind, event }: Row,
    { task, row, at }: { readonly task: number; readonly row: number; readonly at: number },
    fresh: Fresh,
  ): void {
    if (event === null) return;
    const isCanceled = kind === kinds.canceled && event['queued'] === true;
    if (task !== -1 && (isCanceled || kind === kinds.taskEnd))
      fresh.ends.push(endOf(isCanceled ? { state: 'canceled' } : event, task, at));
    if (kind === kinds.child) {
      fresh.children.push({
        delegationId: textIn(event['delegation_id'], 128),
        row,
        task,
        capsule: textIn(event['capsule'], 60),
        version: textIn(event['version'], 30),
        status: textIn(event['status'], 20),
        sessionId: textOrNull(event['child_session_id'], 128),
      });
    }
    if (kind === kinds.sessionEnd && asJsonObject(event['grant_evidence']) !== null) fresh.hasEvidence = true;
    if (kind === kinds.sessionStart && !this.#hasStart) {
      this.#hasStart = true;
      fresh.sessionStart = { ...startOfSession(event), startedAt: this.#origin ?? 0 };
    }
  }
}

function endOf(event: JsonObject, index: number, end: number): EndedTask {
  const usage = objectIn(event['usage']);
  return {
    index,
    end,
    state: textIn(event['state'], 20),
    why: textIn(event['error'], 400),
    durationMs: countIn(event['duration_ms'], maxStepMs),
    turns: countIn(event['turns'], 1e9),
    input: countIn(usage['input_tokens'], 4e12),
    output: countIn(usage['output_tokens'], 4e12),
  };
}

/** Reads a `session_start`; what is missing or of another form is empty. */
function startOfSession(event: JsonObject): Omit<SessionStart, 'startedAt'> {
  const capsule = objectIn(event['capsule']);
  const containment = objectIn(event['containment']);
  return {
    sessionId: textIn(event['session_id'], 128),
    capsule: textIn(capsule['name'], 100),
    version: textIn(capsule['version'], 40),
    declared: textIn(containment['declared'], 20),
    achieved: textIn(containment['achieved'], 20),
    mechanism: textIn(containment['mechanism'], 100),
  };
}
