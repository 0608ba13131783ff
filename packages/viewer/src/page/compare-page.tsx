/** The tab Compare: two sessions side by side, where they part, and their sums. */

import type { JournalStep, ListedSession, ViewedComparison, ViewedFacts } from '@svc/protocol/viewed-session.ts';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';

import { align, type AlignedRow, partingRow } from '../store/alignment.ts';
import { sumsOf } from '../store/session-sums.ts';
import type { Session } from '../store/session.ts';
import type { ServedSource, Source } from '../store/source.ts';
import type { View } from '../store/view.ts';
import { withoutOdd } from '../text/odd-characters.ts';
import { duration, minute } from '../text/words.ts';
import { useLoading } from './loading.tsx';
import { useOpened } from './opened-session.ts';
import { TextBlock, theirs } from './theirs.tsx';
import { type RowAttributes, VirtualList } from './virtual-list.tsx';
import type { WorkerMaker } from './workers.ts';

interface CompareProps {
  readonly view: View;
  readonly facts: ViewedFacts;
  readonly source: ServedSource;
  readonly makeWorker: WorkerMaker;
}

export function ComparePage({
  source,
  ...props
}: Omit<CompareProps, 'source'> & { readonly source: Source }): JSX.Element {
  return source.isServed ? (
    <Compare source={source} {...props} />
  ) : (
    <p class="empty">This file holds one session. svc view, with its server, compares two.</p>
  );
}

function Compare({ facts, source, ...props }: CompareProps): JSX.Element {
  const sessions = useLoading(() => source.sessions(), []);
  const [other, setOther] = useState('');
  const others = sessions.kind === 'there' ? sessions.value.filter(({ session_id: id }) => id !== facts.id) : [];
  return (
    <section class="compare" aria-label="Compare">
      <div class="compare-head">
        <label>
          <span class="muted">Compare with</span>{' '}
          <select value={other} onChange={({ currentTarget }) => setOther(currentTarget.value)}>
            <option value="">
              {others.length === 0 && sessions.kind === 'there' ? 'no other session is here' : 'choose a session'}
            </option>
            {others.slice(0, 500).map((row) => (
              <option value={row.session_id}>{optionText(row)}</option>
            ))}
          </select>
        </label>
      </div>
      {other === '' ? (
        <p class="empty">
          {sessions.kind === 'fault' ? sessions.why : 'Choose another session to see where the two part.'}
        </p>
      ) : (
        <Compared key={other} id={other} facts={facts} source={source} {...props} />
      )}
    </section>
  );
}

/** An option is one text: what could turn it around is left out. */
function optionText({ capsule, started_at_ms: at, status, session_id: id, task }: ListedSession): string {
  return withoutOdd(
    `…${id.slice(-4)} · ${capsule ?? ''} · ${at === null ? '' : minute(at)} · ${status} · ${(task ?? '').slice(0, 60)}`,
  );
}

/** Reads the other session, as long as it is compared with. */
function Compared({ id, view, facts, source, makeWorker }: CompareProps & { readonly id: string }): JSX.Element {
  const comparison = useLoading(() => source.compare(facts.id, id), []);
  const other = useOpened(id, source, makeWorker);
  if (comparison.kind === 'loading') return <p class="empty">Comparing…</p>;
  return (
    <>
      {comparison.kind === 'fault' ? (
        <p class="note padded">{comparison.why}</p>
      ) : (
        <PartingPart comparison={comparison.value} />
      )}
      {other.facts.kind === 'fault' && <p class="note padded">{other.facts.why}</p>}
      <SideBySide
        a={view.session}
        b={other.view.session}
        parting={comparison.kind === 'there' ? comparison.value.parting : null}
      />
    </>
  );
}

function PartingPart({
  comparison: { said, parting, notes = [] },
}: {
  readonly comparison: ViewedComparison;
}): JSX.Element {
  const doubts = notes.map((note) => <p class="note">{theirs(note)}</p>);
  if (said === null)
    return notes.length > 0 ? (
      <div class="parting">{doubts}</div>
    ) : (
      <p class="parting same">The same but for ids and times.</p>
    );
  const difference = parting?.difference ?? null;
  return (
    <div class="parting" tabIndex={0}>
      {doubts}
      <h2>{theirs(said[0])}</h2>
      <p>{theirs(said[1])}</p>
      {difference !== null && (
        <div class="two">
          <Side title="This session">
            <TextBlock text={{ kind: 'text', text: difference.a ?? '', more: 0 }} kind="del" />
          </Side>
          <Side title="The other">
            <TextBlock text={{ kind: 'text', text: difference.b ?? '', more: 0 }} kind="add" />
          </Side>
        </div>
      )}
    </div>
  );
}

function Side({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

function SideBySide({
  a: session,
  b: other,
  parting,
}: {
  readonly a: Session;
  readonly b: Session;
  readonly parting: ViewedComparison['parting'];
}): JSX.Element {
  const mine = useLoading(() => session.ask('steps', null), [session.whole.value]);
  const its = useLoading(() => other.ask('steps', null), [other.whole.value]);
  const [active, setActive] = useState(-1);
  const [a, b] = [mine.kind === 'there' ? mine.value : [], its.kind === 'there' ? its.value : []];
  const rows = useMemo(() => align(a, b), [a, b]);
  const parted = parting === null ? -1 : partingRow(rows, parting.steps);
  useEffect(() => setActive(parted), [parted]);
  return (
    <>
      <Sums a={session} b={other} />
      {rows.length === 0 ? (
        <p class="empty">Steps are compared by what the journals of both have: there is none to compare.</p>
      ) : (
        <VirtualList
          id="compared"
          label="Steps of both sessions"
          count={rows.length}
          rowHeight={28}
          active={active}
          isGrowing={false}
          onMove={setActive}
          onOpen={() => {}}
          layout="compare-columns"
          columns={[['This session'], ['Took', 'num'], ['The other'], ['Took', 'num']]}
          rows={() => (index, attributes) => (
            <ComparedRow
              row={rows[index] ?? { a: null, b: null }}
              isParting={index === parted}
              attributes={attributes}
              onChoose={() => setActive(index)}
            />
          )}
        />
      )}
    </>
  );
}

interface ComparedRowProps {
  readonly row: AlignedRow;
  readonly isParting: boolean;
  readonly attributes: RowAttributes;
  readonly onChoose: () => void;
}

function ComparedRow({ row: { a, b }, isParting, attributes, onChoose }: ComparedRowProps): JSX.Element {
  const isSame = a !== null && b !== null && a.port === b.port && a.name === b.name;
  return (
    <div
      {...attributes}
      class={`step compare-columns ${isParting ? 'parts' : ''} ${isSame ? '' : 'differs'}`}
      onClick={onChoose}
    >
      <StepCells step={a} />
      <StepCells step={b} />
    </div>
  );
}

const laneOfPort: Readonly<Record<string, number>> = { model: 0, tool: 1, mcp: 1, shell: 2, child: 3 };

function StepCells({ step }: { readonly step: JournalStep | null }): JSX.Element {
  if (step === null) {
    return (
      <>
        <span role="gridcell" class="faint">
          –
        </span>
        <span role="gridcell" class="num" />
      </>
    );
  }
  return (
    <>
      <span role="gridcell" class={`name lane${laneOfPort[step.port] ?? -1}`}>
        {theirs(step.port === 'model' ? `turn ${step.turn ?? '?'}` : step.name)}{' '}
        <span class="faint">#{step.number}</span>
        {step.failed && <b class="bad"> failed</b>}
      </span>
      <span role="gridcell" class="num">
        {step.ms === null ? '–' : duration(step.ms)}
      </span>
    </>
  );
}

function differenceOf(by: number, show: (value: number) => string): string {
  return by === 0 ? '–' : `${by > 0 ? '+' : '−'}${show(Math.abs(by))}`;
}

function SumsRow({ title, texts }: { readonly title: string; readonly texts: readonly string[] }): JSX.Element {
  return (
    <tr>
      <th scope="row">{title}</th>
      {texts.map((text) => (
        <td>{text}</td>
      ))}
    </tr>
  );
}

function Sums({ a, b }: { readonly a: Session; readonly b: Session }): JSX.Element {
  const [mine, its] = [sumsOf(a), sumsOf(b)];
  return (
    <table class="compare-sums" tabIndex={0}>
      <caption class="off">Sums of both sessions</caption>
      <thead>
        <tr>
          <td />
          {mine.map(({ label }) => (
            <th scope="col">{label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        <SumsRow title="This session" texts={mine.map(({ value, show }) => show(value))} />
        <SumsRow title="The other" texts={its.map(({ value, show }) => show(value))} />
        <SumsRow
          title="Difference"
          texts={its.map(({ value, show }, index) => differenceOf(value - (mine[index]?.value ?? 0), show))}
        />
      </tbody>
    </table>
  );
}
