/** Makes columns of the lines of a trace, and keeps what is needed to say which task and which child a row belongs to. */

import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import type { Block, Child, EndedTask, NewTask } from '../messages.ts';
import { countIn, objectIn, textIn, textOrNull } from '../trace/checked.ts';
import * as kinds from '../trace/kind-numbers.ts';
import * as flags from '../trace/row-flags.ts';
import { longestStepMs, readLine, type Row, taskText } from '../trace/read-line.ts';
import { startOfSession } from './session-start.ts';

/** Which task and kind the rows have that were read, for questions that come later. */
export class KeptRows {
  #kind = new Uint8Array(1 << 14);
  #task = new Int32Array(1 << 14);
  count = 0;

  push(kind: number, task: number): void {
    if (this.count === this.#kind.length) {
      const [kinds, tasks] = [new Uint8Array(this.count * 2), new Int32Array(this.count * 2)];
      kinds.set(this.#kind);
      tasks.set(this.#task);
      [this.#kind, this.#task] = [kinds, tasks];
    }
    this.#kind[this.count] = kind;
    this.#task[this.count] = task;
    this.count += 1;
  }

  kindOf(row: number): number {
    return this.#kind[row] ?? -1;
  }

  taskOf(row: number): number {
    return this.#task[row] ?? -1;
  }
}

interface Fresh {
  readonly tasks: NewTask[];
  readonly ends: EndedTask[];
  readonly children: Child[];
  start: Block['start'];
  hasEvidence: boolean;
}

/** Reads the lines of one trace in their order. */
export class RowBlocks {
  readonly rows = new KeptRows();
  readonly taskIds: string[] = [];
  readonly #tasks = new Map<string, number>();
  /** When delegations began, by their ids. */
  readonly #delegated = new Map<string, number>();
  #origin: number | null = null;
  #last = 0;
  #hasStart = false;

  block(lines: readonly string[]): Block {
    const first = this.rows.count;
    const { length } = lines;
    const rows = {
      first,
      kind: new Uint8Array(length),
      flags: new Uint8Array(length),
      start: new Float64Array(length),
      duration: new Float64Array(length),
      task: new Int32Array(length),
      input: new Uint32Array(length),
      output: new Uint32Array(length),
      names: Array.from<string>({ length }),
      details: Array.from<string>({ length }),
    };
    const fresh: Fresh = { tasks: [], ends: [], children: [], start: null, hasEvidence: false };
    for (let index = 0; index < length; index += 1) {
      const row = readLine(lines[index] ?? '');
      const at = this.#timeOf(row.at);
      const duration = row.durationMs || this.#delegationMs(row, at);
      const task = this.#taskOf(row, first + index, fresh);
      rows.kind[index] = row.kind;
      rows.flags[index] = row.flags;
      rows.start[index] = this.#startOf(row, at, duration);
      rows.duration[index] = duration;
      rows.task[index] = task;
      rows.input[index] = row.inputTokens;
      rows.output[index] = row.outputTokens;
      rows.names[index] = row.name;
      rows.details[index] = row.detail;
      this.rows.push(row.kind, task);
      this.#note(row, { task, row: first + index, at }, fresh);
    }
    return { kind: 'rows', rows, ...fresh };
  }

  /** Milliseconds since the session began; of a time that is missing or not to be believed, that of the row before. */
  #timeOf(at: number | null): number {
    if (at === null) return this.#last;
    this.#origin ??= at;
    const since = at - this.#origin;
    if (Math.abs(since - this.#last) <= longestStepMs) this.#last = since;
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
      this.#delegated.set(id, at);
      return 0;
    }
    return Math.max(0, at - begun);
  }

  #taskOf({ taskId, event, flags: bits }: Row, row: number, fresh: Fresh): number {
    if (taskId === null) return -1;
    const known = this.#tasks.get(taskId);
    if (known !== undefined) return known;
    const index = this.#tasks.size;
    this.#tasks.set(taskId, index);
    this.taskIds.push(taskId);
    fresh.tasks.push({
      index,
      id: taskId,
      firstRow: row,
      text: (event === null ? '' : taskText(event)) || taskId,
      origin: textIn(event?.['origin'], 20) || 'user',
      isUntrusted: (bits & flags.untrusted) !== 0,
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
      fresh.start = startOfSession(event);
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
    durationMs: countIn(event['duration_ms'], longestStepMs),
    turns: countIn(event['turns'], 1e9),
    input: countIn(usage['input_tokens'], 4e12),
    output: countIn(usage['output_tokens'], 4e12),
  };
}
