/** The head of the page: which capsule, how it is contained, and the sums of its session. */

import type { JSX } from 'preact';

import type { SessionFacts } from '../store/source.ts';
import type { View } from '../store/view.ts';
import { count, duration } from '../text/words.ts';
import { goTo } from './address.ts';
import { Theirs } from './theirs.tsx';
import { theme, toggleTheme } from './theme.ts';

interface HeaderProps {
  readonly view: View;
  readonly facts: SessionFacts;
  readonly hasList: boolean;
  readonly onTasks: () => void;
  readonly onKeys: () => void;
}

export function Header({ view, facts, hasList, onTasks, onKeys }: HeaderProps): JSX.Element {
  const { start, sums, count: rows, columns } = view.session;
  const begun = start.value;
  const { failed, input, output, modelCalls } = sums.value;
  return (
    <header class="top">
      <button class="icon narrow" aria-label="Tasks" onClick={onTasks}>
        ☰
      </button>
      {hasList ? (
        <button
          class="home"
          aria-label="All sessions"
          title="All sessions"
          onClick={() => goTo({ session: null, tab: 'steps', step: null })}
        >
          <Logo />
        </button>
      ) : (
        <Logo />
      )}
      <div class="who">
        <h1>
          <Theirs text={begun === null ? 'Session' : begun.capsule || 'Session'} />
        </h1>
        <span class="faint id">
          <Theirs text={`${begun?.version ?? ''} …${(begun?.sessionId || facts.id).slice(-8)}`.trim()} />
        </span>
        {begun !== null && begun.achieved !== '' && (
          <span class={`chip ${begun.achieved === 'advisory' ? 'weak' : ''}`} title={`asked for ${begun.declared}`}>
            <Theirs text={begun.achieved} />
            <small class="wide">
              {' '}
              asked: <Theirs text={begun.declared} />
            </small>
          </span>
        )}
        <State view={view} facts={facts} />
      </div>
      <dl class="sums" aria-label="Sums">
        <Sum label="Time" value={duration(rows.value === 0 ? 0 : columns.end)} />
        <Sum label="Steps" value={count(rows.value)} />
        <Sum label="Model calls" value={count(modelCalls)} rank={2} />
        <Sum label="Tokens in" value={count(input)} rank={1} />
        <Sum label="out" value={count(output)} rank={1} />
        <Sum label="Failed" value={count(failed)} isBad={failed > 0} />
      </dl>
      <button class="icon" aria-label="Keys" title="Keys (?)" onClick={onKeys}>
        ?
      </button>
      <ThemeButton />
    </header>
  );
}

function Sum({
  label,
  value,
  rank = 0,
  isBad = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly rank?: number;
  readonly isBad?: boolean;
}): JSX.Element {
  return (
    <div class={`sum rank${rank} ${isBad ? 'bad' : ''}`}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** Whether more is to come. */
function State({ view, facts }: { readonly view: View; readonly facts: SessionFacts }): JSX.Element | null {
  const { live, whole, lost } = view.session;
  if (lost.value !== '') return <span class="chip bad">not whole</span>;
  if (live.value?.isConnected === true || (facts.isLive && whole.value === null))
    return <span class="chip live">running</span>;
  if (whole.value === null) return <span class="chip reading">reading</span>;
  return null;
}

export function Logo(): JSX.Element {
  return <span class="logo" aria-hidden="true" />;
}

export function ThemeButton(): JSX.Element {
  const isDark = theme.value.startsWith('dark');
  return (
    <button
      class="icon"
      aria-label={isDark ? 'Light colours' : 'Dark colours'}
      title={isDark ? 'Light colours' : 'Dark colours'}
      onClick={toggleTheme}
    >
      ◐
    </button>
  );
}
