/** What a person looks at in a session: filters, the chosen step, the part of time. */

import * as kinds from '@svc/protocol/row-kinds.ts';
import { now } from '../text/page-clock.ts';
import { laneOfKind, wentWrong } from '../trace/kinds.ts';
import { Cell, follow, watch } from './cell.ts';
import type { Columns } from './columns.ts';
import type { Session } from './session.ts';
import { tellsAgain } from './told-again.ts';

export const tabs = ['steps', 'conversation', 'grants', 'files', 'compare'] as const;
export type Tab = (typeof tabs)[number];

export type Span = readonly [from: number, to: number];

/** The list of steps follows the brush when it has rested for this long: until then, only the timeline is drawn. */
const restMs = 120;
const searchMs = 200;
const sumsMs = 400;

const noRows: ReadonlySet<number> = new Set();

/** The view of one session. The owner closes it with the session. */
export class View {
  readonly session: Session;
  readonly tab: Cell<Tab>;
  /** -1 when no step is selected. */
  readonly selected: Cell<number> = new Cell(-1);
  /** Whether the side panel lies over a narrow page, where it shows on demand only. */
  readonly isPanelOpen: Cell<boolean> = new Cell(false);
  /** The same for the list of tasks, over a narrower page. */
  readonly isRailOpen: Cell<boolean> = new Cell(false);
  /** Whether the list of keys lies over everything. */
  readonly areKeysShown: Cell<boolean> = new Cell(false);
  /** The number of a task; -1 for all. */
  readonly onlyTask: Cell<number> = new Cell(-1);
  readonly onlyFailed: Cell<boolean> = new Cell(false);
  /** Shows only steps of exactly this name; a host includes its ports; '' for all. */
  readonly onlyName: Cell<string> = new Cell('');
  /** Lanes that are switched off. */
  readonly hidden: Cell<ReadonlySet<number>> = new Cell(new Set());
  readonly query: Cell<string> = new Cell('');
  /** Rows whose whole lines match the search, while the row shows only the beginning; none for other words. */
  readonly found: Cell<ReadonlySet<number>> = new Cell(noRows);
  /** Whether a search of whole lines failed, so that text outside of the rows is unknown. */
  readonly hasSearchFailed: Cell<boolean> = new Cell(false);
  /** The part of time that the timeline shows; null for all of it. */
  readonly range: Cell<Span | null> = new Cell(null);
  /** The part of time whose steps are listed. */
  readonly listed: Cell<Span | null> = new Cell(null);
  /** Changes seldom: for counts over all rows. */
  readonly restedCount: Cell<number> = new Cell(0);
  /** The same every two seconds: for questions to the server. */
  readonly slowCount: Cell<number> = new Cell(0);
  /** The rows that are shown; changes as often as `restedCount`. */
  readonly restedRows: Cell<Uint32Array> = new Cell(new Uint32Array(0));
  #filters: Filters | readonly [] = [];
  #shown: Uint32Array = new Uint32Array(0);
  readonly #stops: (() => void)[];

  constructor(session: Session, tab: Tab = 'steps') {
    this.session = session;
    this.tab = new Cell(tab);
    this.#stops = [
      rested(this.range, restMs, (range) => void (this.listed.value = range)),
      follow(
        () => this.query.value,
        () => {
          this.found.value = noRows;
          this.hasSearchFailed.value = false;
        },
      ),
      rested(this.query, searchMs, (query) => void this.#search(query)),
      paced(
        () => session.count.value,
        sumsMs,
        (count) => void (this.restedCount.value = count),
      ),
      paced(
        () => session.count.value,
        2000,
        (count) => void (this.slowCount.value = count),
      ),
      paced(
        () => this.shown,
        sumsMs,
        (rows) => void (this.restedRows.value = rows),
      ),
    ];
  }

  /** The rows that the filters leave, in their order. */
  get shown(): Uint32Array {
    const filters: Filters = [
      this.session.count.value,
      this.onlyTask.value,
      this.onlyFailed.value,
      this.onlyName.value,
      this.hidden.value,
      this.listed.value,
      this.query.value,
      this.found.value,
    ];
    if (filters.some((filter, index) => filter !== this.#filters[index])) {
      this.#filters = filters;
      this.#shown = rowsThat(this.session.columns, filters);
    }
    return this.#shown;
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.session.close();
  }

  select(row: number): void {
    this.selected.value = row;
    this.isPanelOpen.value = row !== -1;
  }

  /** Closes what lies over the page; returns whether there was anything. */
  closeOver(): boolean {
    const wasOpen = this.areKeysShown.value || this.isRailOpen.value;
    this.areKeysShown.value = false;
    this.isRailOpen.value = false;
    return wasOpen;
  }

  /** Shows everything again. */
  reset(): void {
    this.onlyTask.value = -1;
    this.onlyFailed.value = false;
    this.onlyName.value = '';
    this.range.value = null;
    this.query.value = '';
    this.hidden.value = new Set();
  }

  /** Shows all that failed and was refused, and nothing else. */
  showFailed(): void {
    this.reset();
    this.onlyFailed.value = true;
    this.tab.value = 'steps';
  }

  /** Shows one task, and the part of time that it took; the same again shows all. */
  pickTask(index: number): void {
    const task = this.session.tasks.value[index];
    if (task === undefined || this.onlyTask.value === index) {
      this.onlyTask.value = -1;
      this.range.value = null;
      return;
    }
    this.onlyTask.value = index;
    const took = (task.end ?? task.start) - task.start;
    this.range.value = took <= 0 ? null : [Math.max(0, task.start - took * 0.02), task.start + took * 1.02];
  }

  toggleLane(lane: number): void {
    const hidden = new Set(this.hidden.value);
    if (!hidden.delete(lane)) hidden.add(lane);
    this.hidden.value = hidden;
  }

  async #search(query: string): Promise<void> {
    const words = query.trim().toLowerCase();
    if (words.length < 2) return;
    const rows = await this.session.ask('search', words).catch(() => null);
    if (this.query.value !== query) return;
    this.hasSearchFailed.value = rows === null;
    if (rows !== null) this.found.value = new Set(rows);
  }
}

type Filters = readonly [
  count: number,
  task: number,
  isFailed: boolean,
  name: string,
  hidden: ReadonlySet<number>,
  span: Span | null,
  query: string,
  found: ReadonlySet<number>,
];

function rowsThat(columns: Columns, [count, task, isFailed, name, hidden, span, query, found]: Filters): Uint32Array {
  const words = query.trim().toLowerCase();
  if (name === '' && task === -1 && !isFailed && hidden.size === 0 && span === null && words === '')
    return everything(count);
  const { kind, flags, task: tasks, start, duration, name: named, details } = columns;
  const onlyName = columns.names.indexOf(name);
  const isAgain = tellsAgain(columns);
  const rows = new Uint32Array(count);
  let length = 0;
  for (let row = 0; row < count; row += 1) {
    if (isFailed && (isAgain(row) || ((flags.data[row] ?? 0) & wentWrong) === 0)) continue;
    if (task !== -1 && tasks.data[row] !== task) continue;
    if (
      name !== '' &&
      named.data[row] !== onlyName &&
      !(kind.data[row] === kinds.egress && columns.nameOf(row).startsWith(`${name}:`))
    )
      continue;
    const lane = laneOfKind[kind.data[row] ?? 255] ?? -1;
    if (lane !== -1 && hidden.has(lane)) continue;
    const begun = start.data[row] ?? 0;
    if (span !== null && (begun > span[1] || begun + (duration.data[row] ?? 0) < span[0])) continue;
    if (words !== '' && !found.has(row) && !`${columns.nameOf(row)} ${details[row]}`.toLowerCase().includes(words))
      continue;
    rows[length] = row;
    length += 1;
  }
  return rows.subarray(0, length);
}

let all = new Uint32Array(0);

/** The numbers from 0 on, made once. */
function everything(count: number): Uint32Array {
  if (all.length < count) {
    all = new Uint32Array(Math.max(1 << 15, count * 2));
    for (let index = 0; index < all.length; index += 1) all[index] = index;
  }
  return all.subarray(0, count);
}

/** Calls when a value has not changed for a while; at once when it becomes nothing. */
function rested<Value>(source: Cell<Value>, ms: number, tell: (value: Value) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = follow(
    () => source.value,
    (value) => {
      clearTimeout(timer);
      if (value === null || value === '') tell(value);
      else timer = setTimeout(() => tell(value), ms);
    },
  );
  return () => {
    clearTimeout(timer);
    stop();
  };
}

/** Calls at once, and then not more often than every `ms`, the last time with the last value. */
function paced<Value>(read: () => Value, ms: number, tell: (value: Value) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let watched: { readonly stop: () => void };
  const look = (): void => {
    const due = now() + ms;
    const { value, stop } = watch(read, () => void (timer = setTimeout(look, due - now())));
    watched = { stop };
    tell(value);
  };
  look();
  return () => {
    clearTimeout(timer);
    watched.stop();
  };
}
