/** Says where in the journal the texts of a line of a trace are: the trace names a task, an attempt and a turn, the journal a place. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import { countIn, keptText } from './rows/checked.ts';

/** What of the journal a line leads to: the step at a place, or the n-th answer that a task was given, from 0. */
export type Sought =
  | { readonly kind: 'step'; readonly place: string }
  | { readonly kind: 'answer'; readonly task: string; readonly number: number };

/** How far a task has come. */
interface Progress {
  readonly attempt: number;
  /** The turn of the model's last answer; 0 where that is not known. */
  readonly turn: number;
  /** So many calls of that answer have a line. */
  readonly calls: number;
  readonly answers: number;
}

const begun: Progress = { attempt: 1, turn: 0, calls: 0, answers: 0 };

/** Tasks whose lines came last: of an earlier one, what comes then has no texts. */
const maxTasks = 100;
const maxId = 128;
const maxTurns = 1e9;

/** Types of lines that lead to the journal, or that the way of others there depends on. */
export const placedTypes: ReadonlySet<string> = new Set([
  'task_start',
  'inference',
  'tool_call',
  'skill_call',
  'shell',
  'plan_step',
  'task_input_required',
]);

/** Takes the lines of one trace in their order. */
export class StepPlaces {
  readonly #tasks: Map<string, Progress>;

  constructor(tasks: Iterable<readonly [string, Progress]> = []) {
    this.#tasks = new Map(tasks);
  }

  /** Returns a copy that goes on from here by itself. */
  copy(): StepPlaces {
    return new StepPlaces(this.#tasks);
  }

  /** Returns null for a line of no step. */
  take(event: JsonObject): Sought | null {
    const { event_type: type, task_id: id, turn } = event;
    if (typeof type !== 'string' || !placedTypes.has(type) || typeof id !== 'string' || id === '') return null;
    const task = keptText(id, maxId);
    const known = this.#tasks.get(task) ?? begun;
    const at = `${task}/${known.attempt}/m`;
    switch (type) {
      case 'task_start':
        this.#keep(task, { ...known, attempt: countIn(event['attempt'], 1e6) || 1, turn: 0, calls: 0 });
        return null;
      case 'inference':
        // A hook asks beside the turns of a task.
        if (event['hook_name'] !== undefined) return null;
        this.#keep(task, { ...known, turn: countIn(turn, maxTurns), calls: 0 });
        return { kind: 'step', place: `${at}${countIn(turn, maxTurns)}` };
      case 'task_input_required':
        if (event['outcome'] !== 'answered') return null;
        this.#keep(task, { ...known, answers: known.answers + 1 });
        return { kind: 'answer', task, number: known.answers };
      default: {
        // Calls run one after the other: the n-th line after that of the model is the n-th call of its answer. The line of a plan comes after those of its steps, which say no turn.
        const call = `${at}${countIn(turn ?? known.turn, maxTurns)}/t${known.calls + 1}`;
        const step = event['step_id'];
        if (type === 'plan_step')
          return { kind: 'step', place: `${call}/s${typeof step === 'string' ? step.slice(0, 160) : ''}` };
        this.#keep(task, { ...known, calls: known.calls + 1 });
        return { kind: 'step', place: call };
      }
    }
  }

  #keep(task: string, progress: Progress): void {
    // The newest is the last.
    this.#tasks.delete(task);
    this.#tasks.set(task, progress);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > maxTasks && oldest !== undefined) this.#tasks.delete(oldest);
  }
}
