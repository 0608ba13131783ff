/** The head of the page: which capsule, how it is contained, and the sums of its session. */

import type { JSX } from 'preact';

import type { ViewedFacts } from '@svc/protocol/viewed-session.ts';
import * as kinds from '@svc/protocol/row-kinds.ts';
import { failedLabel, type Sum, sumsOf } from '../store/session-sums.ts';
import type { View } from '../store/view.ts';
import { withoutOdd } from '../text/odd-characters.ts';
import { goTo } from './address.ts';
import { useNow } from './live-turn.tsx';
import { Theirs, theirs } from './theirs.tsx';
import { theme, toggleTheme } from './theme.ts';

interface HeaderProps {
  readonly view: View;
  readonly facts: ViewedFacts;
  readonly hasList: boolean;
}

export function Header({ view, facts, hasList }: HeaderProps): JSX.Element {
  const begun = view.session.start.value;
  useNow(view.session.live.value !== null);
  return (
    <header class="top">
      <button class="icon narrow" aria-label="Tasks" onClick={() => void (view.isRailOpen.value = true)}>
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
        <span class="faint id" title={withoutOdd(begun?.sessionId || facts.id)}>
          <Theirs text={`${begun?.version ?? ''} …${(begun?.sessionId || facts.id).slice(-4)}`.trim()} />
        </span>
        {begun !== null && begun.achieved !== '' && (
          <span
            class={`chip ${begun.achieved === 'advisory' ? 'weak' : ''}`}
            title={`asked for ${withoutOdd(begun.declared)}`}
          >
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
        {sumsOf(view.session).map((sum) => (
          <SumItem sum={sum} view={view} />
        ))}
      </dl>
      <button class="icon" aria-label="Keys" title="Keys (?)" onClick={() => void (view.areKeysShown.value = true)}>
        ?
      </button>
      <ThemeButton />
    </header>
  );
}

function SumItem({ sum: { label, value, show, rank }, view }: { readonly sum: Sum; readonly view: View }): JSX.Element {
  const isBad = label === failedLabel && value > 0;
  return (
    <div class={`sum rank${rank} ${isBad ? 'bad' : ''}`}>
      <dt>{label}</dt>
      <dd>
        {isBad ? (
          <button title="Show the failed steps" onClick={() => view.showFailed()}>
            {show(value)}
          </button>
        ) : (
          show(value)
        )}
      </dd>
    </div>
  );
}

/** Whether more is to come, and how it came to its end. */
function State({ view, facts }: { readonly view: View; readonly facts: ViewedFacts }): JSX.Element | null {
  const { live, whole, lost, count, columns } = view.session;
  if (lost.value !== '') return <span class="chip bad">incomplete</span>;
  if (live.value?.question != null) return <span class="chip live asking">waits for you</span>;
  if (live.value !== null || (facts.live && whole.value === null)) return <span class="chip live">running</span>;
  if (whole.value === null) return <span class="chip reading">reading</span>;
  const last = count.value - 1;
  if (last < 0) return null;
  const end = columns.kindOf(last) === kinds.sessionEnd ? columns.nameOf(last).slice(8) : 'no end';
  return <span class={`chip ${end === 'ok' ? '' : 'bad'}`}>{theirs(end)}</span>;
}

export function Logo(): JSX.Element {
  return <span class="logo" />;
}

export function ThemeButton(): JSX.Element {
  const { isDark } = theme.value;
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
