/** The list of sessions as a page: newest first, one leads to its session. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { ListedSession } from '@svc/protocol/viewed-session.ts';
import type { ServedSource } from '../store/source.ts';
import { withoutOdd } from '../text/odd-characters.ts';
import { count, counted, minute } from '../text/words.ts';
import { goTo } from './address.ts';
import { Logo, ThemeButton } from './header.tsx';
import { type Loading, useLoading } from './loading.tsx';
import { theirs } from './theirs.tsx';
import { type RowAttributes, VirtualList } from './virtual-list.tsx';

const againMs = 4000;
const failures: ReadonlySet<string> = new Set(['failed', 'trapped', 'crashed']);

export function SessionsList({ source }: { readonly source: ServedSource }): JSX.Element {
  const [round, setRound] = useState(0);
  const [query, setQuery] = useState('');
  const [onlyFailed, setOnlyFailed] = useState(false);
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
  useEffect(() => void (document.title = 'Sessions · svc'), []);
  const rows = loading.kind === 'there' ? filtered(loading.value, query, onlyFailed) : [];
  const open = (row: ListedSession | undefined): void => {
    if (row !== undefined) goTo({ session: row.session_id, tab: 'steps', step: null });
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
          <button class="filter" aria-pressed={onlyFailed} onClick={() => setOnlyFailed(!onlyFailed)}>
            Failed only
          </button>
          <span class="spring" />
          <label class="search">
            <span class="off">Search sessions</span>
            <input
              type="search"
              placeholder="Search sessions"
              value={query}
              onInput={({ currentTarget }) => setQuery(currentTarget.value)}
            />
          </label>
          <output>{loading.kind === 'there' ? counted(rows.length, 'session') : ''}</output>
        </div>
        {rows.length === 0 ? (
          <p class="empty" role="status">
            {emptyText(loading)}
          </p>
        ) : (
          <VirtualList
            id="sessions"
            label="Sessions"
            count={rows.length}
            rowHeight={36}
            active={active}
            isGrowing={false}
            onMove={setActive}
            onOpen={() => open(rows[active])}
            layout="session-columns"
            columns={[['State'], ['Capsule'], ['Task'], ['Started'], ['Tasks', 'num'], ['Tokens', 'num'], ['Session']]}
            rows={() => (index, attributes) => <Row row={rows[index]} attributes={attributes} onOpen={open} />}
          />
        )}
      </main>
    </>
  );
}

interface RowProps {
  readonly row: ListedSession | undefined;
  readonly attributes: RowAttributes;
  readonly onOpen: (row: ListedSession | undefined) => void;
}

function Row({ row, attributes, onOpen }: RowProps): JSX.Element {
  return (
    <div {...attributes} class="session-row session-columns" onClick={() => onOpen(row)}>
      <span role="gridcell" class="state">
        <i class={`dot ${dotOf(row?.status ?? '')}`} />
        {theirs(row?.status ?? '')}
      </span>
      <span role="gridcell" class="strong">
        {theirs(row?.capsule || '–')}
      </span>
      <span role="gridcell" class="muted">
        {theirs(row?.task || '–')}
      </span>
      <span role="gridcell" class="muted">
        {row?.started_at_ms == null ? '–' : minute(row.started_at_ms)}
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

function filtered(rows: readonly ListedSession[], query: string, isFailed: boolean): readonly ListedSession[] {
  const words = query.trim().toLowerCase();
  return rows.filter(
    (row) =>
      (!isFailed || failures.has(row.status)) &&
      (words === '' ||
        `${row.capsule ?? ''} ${row.task ?? ''} ${row.session_id} ${row.status}`.toLowerCase().includes(words)),
  );
}

function emptyText(loading: Loading<readonly ListedSession[]>): string {
  if (loading.kind === 'loading') return 'Looking for sessions…';
  if (loading.kind === 'fault') return loading.why;
  return loading.value.length === 0
    ? 'No session runs or is recorded here. svc run starts one.'
    : 'No session is what the filters ask for.';
}
