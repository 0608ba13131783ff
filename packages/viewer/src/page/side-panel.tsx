/** The side panel: all of a chosen step, or a summary while none is chosen. */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';

import type { StepDetail } from '@svc/protocol/viewed-session.ts';
import * as kinds from '@svc/protocol/row-kinds.ts';
import { sumsOf } from '../store/session-sums.ts';
import { percents, summarize } from '../store/summary.ts';
import type { View } from '../store/view.ts';
import { count, duration, moment, size } from '../text/words.ts';
import { labelOf, laneOfKind, lanes } from '../trace/kinds.ts';
import { address, goTo, linkTo } from './address.ts';
import { loaded, useDetail } from './loading.tsx';
import { StepTexts } from './step-texts.tsx';
import { wordsOf } from './steps.tsx';
import { TextBlock, theirs } from './theirs.tsx';

interface SidePanelProps {
  readonly view: View;
  /** Whether other sessions can be opened from here. */
  readonly isServed: boolean;
}

export function SidePanel({ view, isServed }: SidePanelProps): JSX.Element {
  const row = view.selected.value;
  const isOpen = view.isPanelOpen.value;
  return (
    <aside class={`side ${isOpen ? 'open' : ''}`} aria-label={row === -1 ? 'Summary' : 'Step'}>
      {row === -1 ? <Summary view={view} /> : <Step key={row} row={row} view={view} isServed={isServed} />}
    </aside>
  );
}

function Step({
  row,
  view,
  isServed,
}: {
  readonly row: number;
  readonly view: View;
  readonly isServed: boolean;
}): JSX.Element {
  const { columns } = view.session;
  const kind = columns.kindOf(row);
  const detail = useDetail(view, row);
  const [word] = wordsOf(columns.flagsOf(row), columns.detailOf(row));
  return (
    <>
      <header class="side-head">
        <h2 class={`lane${laneOfKind[kind] ?? -1}`}>
          <i class="square" />
          <span class="theirs">{theirs(columns.nameOf(row))}</span>
        </h2>
        <button class="icon" aria-label="Close" title="Close (Esc)" onClick={() => view.select(-1)}>
          ✕
        </button>
      </header>
      <p class="side-kind">
        {labelOf(kind)}
        {word !== '' && <b class="bad"> · {word}</b>}
      </p>
      {loaded(detail, (there) => (
        <Detail detail={there} view={view} isServed={isServed} />
      ))}
    </>
  );
}

const spelt = { at: moment, ms: duration, bytes: size } as const;

function Detail({
  detail,
  view,
  isServed,
}: {
  readonly detail: StepDetail;
  readonly view: View;
  readonly isServed: boolean;
}): JSX.Element {
  const kind = view.session.columns.kindOf(detail.row);
  const child = kind === kinds.child ? view.session.children.value.find(({ row }) => row === detail.row) : undefined;
  const childId = child?.sessionId ?? null;
  return (
    <>
      {detail.facts.length > 0 && (
        <dl class="facts">
          {detail.step !== null && (
            <>
              <dt>Step</dt>
              <dd>#{detail.step}</dd>
            </>
          )}
          {detail.facts.map(([label, value, unit = 'ms']) => (
            <>
              <dt class="theirs">{theirs(label)}</dt>
              <dd class="theirs">{theirs(typeof value === 'string' ? value : spelt[unit](value))}</dd>
            </>
          ))}
        </dl>
      )}
      {childId !== null && isServed && (
        <button class="button" onClick={() => goTo({ session: childId, tab: 'conversation', step: null })}>
          Open the session of this child
        </button>
      )}
      <StepTexts detail={detail} />
      {detail.eventId !== null && <CopyLink eventId={detail.eventId} isServed={isServed} />}
      <TraceLine detail={detail} />
    </>
  );
}

/** Only made when it is asked for: it can be long. */
function TraceLine({ detail }: { readonly detail: StepDetail }): JSX.Element {
  const [isOpen, setOpen] = useState(detail.eventId === null && detail.facts.length === 0);
  return (
    <>
      <button class="unfold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Line of the trace
      </button>
      {isOpen && <TextBlock text={detail.line} />}
    </>
  );
}

function CopyLink({ eventId, isServed }: { readonly eventId: string; readonly isServed: boolean }): JSX.Element {
  const [said, setSaid] = useState('');
  const link = linkTo({ ...address.value, step: eventId });
  const copy = (): void => {
    navigator.clipboard.writeText(link).then(
      // Another tab has no token.
      () => setSaid(isServed ? 'Copied, for the address of this tab' : 'Copied'),
      () => setSaid(link),
    );
  };
  return (
    <p class="link-row">
      <button class="button" onClick={copy}>
        Copy link
      </button>
      <output class="faint">{said}</output>
    </p>
  );
}

function Summary({ view }: { readonly view: View }): JSX.Element {
  const { columns } = view.session;
  const rows = view.restedRows.value;
  const summary = useMemo(() => summarize(rows, columns), [rows]);
  const shares = percents(summary.byLane);
  const whole = summary.byLane.reduce((a, b) => a + b, 0);
  return (
    <>
      <header class="side-head">
        <h2 class="plain">Where the time went</h2>
        <button class="icon over-only" aria-label="Close" onClick={() => void (view.isPanelOpen.value = false)}>
          ✕
        </button>
      </header>
      <dl class="facts narrow-sums" aria-label="Sums">
        {sumsOf(view.session).map(({ label, value, show }) => (
          <>
            <dt>{label}</dt>
            <dd>{show(value)}</dd>
          </>
        ))}
      </dl>
      {whole === 0 ? (
        <p class="note">Nothing here took time.</p>
      ) : (
        <div class="stack" aria-hidden="true">
          {summary.byLane.map((ms, lane) => ms > 0 && <i class={`lane${lane}`} style={{ flexGrow: ms / whole }} />)}
        </div>
      )}
      <table class="shares">
        <caption class="off">Share of time by lane</caption>
        <tbody>
          {lanes.map((name, lane) => {
            const ms = summary.byLane[lane] ?? 0;
            return (
              ms > 0 && (
                <tr class={`lane${lane}`}>
                  <th scope="row">
                    <i class="square" />
                    {name}
                  </th>
                  <td>{shares[lane]} %</td>
                  <td>{duration(ms)}</td>
                </tr>
              )
            );
          })}
        </tbody>
      </table>
      <h3>Slowest</h3>
      {summary.slowest.length === 0 ? <p class="note">None.</p> : null}
      <ul class="picks">
        {summary.slowest.map(({ row, took }) => (
          <li>
            <button onClick={() => view.select(row)}>
              <span class="theirs mono">
                {theirs(columns.nameOf(row))} <small>{theirs(columns.detailOf(row))}</small>
              </span>
              <b>{duration(took)}</b>
            </button>
          </li>
        ))}
      </ul>
      <h3>Failures</h3>
      {summary.failures.length === 0 ? <p class="note">None.</p> : null}
      <ul class="picks">
        {summary.failures.map(([name, times, row]) => (
          <li>
            <button onClick={() => view.select(row)}>
              <span class="theirs mono">{theirs(name)}</span>
              <b class="bad">{count(times)}</b>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
