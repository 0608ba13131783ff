/** The list of sessions as a page: newest first, one leads to its session. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { ViewedList } from '@svc/protocol/viewed-session.ts';
import { Cell } from '../store/cell.ts';
import type { ServedSource } from '../store/source.ts';
import { withoutOdd } from '../text/odd-characters.ts';
import { now } from '../text/page-clock.ts';
import { count, counted, duration, minute } from '../text/words.ts';
import { goTo } from './address.ts';
import { Logo, ThemeButton } from './header.tsx';
import { type Loading, useLoading } from './loading.tsx';
import { theirs } from './theirs.tsx';
import { type RowAttributes, VirtualList } from './virtual-list.tsx';

const againMs = 4000;
const failures: ReadonlySet<string> = new Set(['failed', 'trapped', 'crashed', 'not-started']);

type Listed = ViewedList['sessions'][number];
type Only = 'failed' | 'asking' | null;

/** What is looked for stays while a session is shown, for the way back. */
const [query, only] = [new Cell(''), new Cell<Only>(null)];

export function SessionsList({ source }: { readonly source: ServedSource }): JSX.Element {
  const [round, setRound] = useState(0);
  const [active, setActive] = useState(-1);
  const loading = useLoading(() => source.sessions(), [round]);
  const hasFailed = loading.kind === 'fault';
  useEffect(() => {
    // A server that does not know the token ends when it is asked too often, and one that is gone does not come back.
    if (hasFailed) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setRound((before) => before + 1);
    }, againMs);
    return () => clearInterval(timer);
  }, [hasFailed]);
  const { sessions, more } = loading.kind === 'there' ? loading.value : { sessions: [], more: 0 };
  const asking = sessions.filter(({ asks }) => asks).length;
  // Nobody is left in a list that is empty because the last question has its answer.
  const wanted = only.value === 'asking' && asking === 0 ? null : only.value;
  const rows = filtered(sessions, query.value, wanted);
  useEffect(() => void (document.title = `${asking > 0 ? `(${asking}) ` : ''}Sessions · svc`), [asking]);
  const open = (row: Listed | undefined): void => {
    if (row !== undefined) goTo({ session: row.session_id, tab: row.asks ? 'conversation' : 'steps', step: null });
  };
  return (
    <>
      <header class="top">
        <Logo />
        <h1>Sessions</h1>
        <span class="spring" />
        <ThemeButton />
      </header>
      <main class="sessions">
        <div class="tools">
          <Filter what="failed" wanted={wanted}>
            Failed only
          </Filter>
          {asking > 0 && (
            <Filter what="asking" wanted={wanted}>
              {count(asking)} {asking === 1 ? 'waits' : 'wait'} for you
            </Filter>
          )}
          <span class="spring" />
          <label class="search">
            <span class="off">Search sessions</span>
            <input
              type="search"
              placeholder="Search sessions"
              value={query.value}
              onInput={({ currentTarget }) => void (query.value = currentTarget.value)}
            />
          </label>
          <output>{loading.kind === 'there' ? countsOf(rows.length, sessions.length + more) : ''}</output>
        </div>
        {rows.length === 0 ? (
          <p class="empty" role="status">
            {emptyText(loading, more)}
          </p>
        ) : (
          <VirtualList
            id="sessions"
            label="Sessions"
            count={rows.length}
            rowHeight={36}
            narrowRowHeight={56}
            active={active}
            isGrowing={false}
            onMove={setActive}
            onOpen={() => open(rows[active])}
            layout="session-columns"
            columns={columns}
            rows={() => (index, attributes) => <Row row={rows[index]} attributes={attributes} onOpen={open} />}
          />
        )}
      </main>
    </>
  );
}

const columns = [
  ['State'],
  ['Capsule'],
  ['Task'],
  ['Model'],
  ['Started'],
  ['Time', 'num'],
  ['Tasks', 'num'],
  ['Tokens', 'num'],
  ['Session'],
] as const;

interface FilterProps {
  readonly what: Only;
  readonly wanted: Only;
  readonly children: ComponentChildren;
}

function Filter({ what, wanted, children }: FilterProps): JSX.Element {
  return (
    <button
      class={`filter ${what}`}
      aria-pressed={wanted === what}
      onClick={() => void (only.value = wanted === what ? null : what)}
    >
      {children}
    </button>
  );
}

/** `12 sessions`, `3 of 12 sessions`. */
function countsOf(shown: number, all: number): string {
  return shown === all ? counted(all, 'session') : `${count(shown)} of ${counted(all, 'session')}`;
}

interface RowProps {
  readonly row: Listed | undefined;
  readonly attributes: RowAttributes;
  readonly onOpen: (row: Listed | undefined) => void;
}

function Row({ row, attributes, onOpen }: RowProps): JSX.Element {
  const folder = row?.folder ?? '';
  return (
    <div {...attributes} class="session-row session-columns" onClick={() => onOpen(row)}>
      <span role="gridcell" class="state">
        <i class={`dot ${row?.asks === true ? 'asking' : dotOf(row?.status ?? '')}`} />
        <span class="theirs">{row?.asks === true ? 'waits for you' : theirs(row?.status ?? '')}</span>
      </span>
      <span role="gridcell" title={withoutOdd(folder)}>
        <span class="strong">{theirs(row?.capsule || '–')}</span>{' '}
        <bdi class="muted">{theirs(folder.slice(folder.lastIndexOf('/') + 1))}</bdi>
      </span>
      <span role="gridcell" class="muted" title={withoutOdd(row?.task ?? '')}>
        {theirs(row?.task || '–')}
      </span>
      <span role="gridcell" class="muted" title={withoutOdd(row?.model ?? '')}>
        {theirs(row?.model || '–')}
      </span>
      <span role="gridcell" class="muted">
        {row?.started_at_ms == null ? '–' : minute(row.started_at_ms)}
      </span>
      <span role="gridcell" class="num">
        {timeOf(row)}
      </span>
      <span role="gridcell" class="num">
        {count(row?.tasks ?? 0)}
      </span>
      <span role="gridcell" class="num">
        {count(row?.tokens ?? 0)}
      </span>
      <span role="gridcell" class="mono muted" title={withoutOdd(row?.session_id ?? '')}>
        …{theirs((row?.session_id ?? '').slice(-4))}
      </span>
    </div>
  );
}

/** The sign of a state, which its word says too. */
export function dotOf(status: string): string {
  if (failures.has(status)) return 'failed';
  if (status === 'running') return 'working';
  return status === 'canceled' ? 'canceled' : 'completed';
}

/** How long a session took, or has taken so far. */
function timeOf(row: Listed | undefined): string {
  if (row?.duration_ms != null) return duration(row.duration_ms);
  return row?.status === 'running' && row.started_at_ms !== null
    ? duration(Math.max(0, now() - row.started_at_ms))
    : '–';
}

function filtered(rows: readonly Listed[], words: string, wanted: Only): readonly Listed[] {
  const sought = words.trim().toLowerCase();
  return rows.filter(
    (row) =>
      (wanted !== 'failed' || failures.has(row.status)) &&
      (wanted !== 'asking' || row.asks) &&
      (sought === '' ||
        [row.capsule, row.task, row.session_id, row.status, row.model, row.folder, row.asks ? 'waits for you' : '']
          .join(' ')
          .toLowerCase()
          .includes(sought)),
  );
}

function emptyText(loading: Loading<ViewedList>, more: number): string {
  if (loading.kind === 'loading') return 'Looking for sessions…';
  if (loading.kind === 'fault') return loading.why;
  if (loading.value.sessions.length === 0) return 'No session runs or is recorded here. svc run starts one.';
  const older = more === 0 ? '' : ` ${counted(more, 'older one is', 'older ones are')} not listed.`;
  return `No session is what the filters ask for.${older}`;
}
