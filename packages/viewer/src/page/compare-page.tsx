/** The tab Compare: two sessions side by side, where they part, and their sums. */

import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';

import type { JournalStep } from '../messages.ts';
import { align, type AlignedRow, partingRow } from '../store/alignment.ts';
import { sumsOf } from '../store/session-sums.ts';
import { Session } from '../store/session.ts';
import type { Comparison, Parting, SessionFacts, SessionRow, Source } from '../store/source.ts';
import type { View } from '../store/view.ts';
import { duration, minute } from '../text/words.ts';
import { type Loading, useLoading } from './loading.ts';
import { TextBlock, theirs } from './theirs.tsx';
import { type RowAttributes, VirtualList } from './virtual-list.tsx';
import type { WorkerMaker } from './workers.ts';

interface CompareProps {
  readonly view: View;
  readonly facts: SessionFacts;
  readonly source: Source;
  readonly makeWorker: WorkerMaker;
}

export function ComparePage({ view, facts, source, makeWorker }: CompareProps): JSX.Element {
  const sessions = useLoading(() => source.sessions(), [source]);
  const other = useSignal<string | null>(null);
  const held = useLoading(async () => (source.isServed ? null : await source.compare(facts.id, '')), [facts.id]);
  const others = sessions.kind === 'there' ? sessions.value.filter(({ id }) => id !== facts.id) : [];
  if (!source.isServed) {
    if (held.kind !== 'there') return <p class="empty">{held.kind === 'fault' ? held.why : 'Reading…'}</p>;
    return held.value === null ? (
      <p class="empty">This file holds one session. svc view, with its server, compares two.</p>
    ) : (
      <section class="page" aria-label="Compare" tabIndex={0}>
        <PartingPart comparison={held.value} />
      </section>
    );
  }
  return (
    <section class="compare" aria-label="Compare">
      <div class="compare-head">
        <label>
          <span class="muted">Compare with</span>{' '}
          <select
            value={other.value ?? ''}
            onChange={({ currentTarget }) => void (other.value = currentTarget.value || null)}
          >
            <option value="">
              {others.length === 0 && sessions.kind === 'there' ? 'no other session is here' : 'choose a session'}
            </option>
            {others.slice(0, 500).map((row) => (
              <option value={row.id}>{optionText(row)}</option>
            ))}
          </select>
        </label>
      </div>
      {other.value === null ? (
        <p class="empty">
          {sessions.kind === 'fault' ? sessions.why : 'Choose another session to see where the two part.'}
        </p>
      ) : (
        <Compared
          key={other.value}
          id={other.value}
          view={view}
          facts={facts}
          source={source}
          makeWorker={makeWorker}
        />
      )}
    </section>
  );
}

/** An option is one text: what could turn it around is left out. */
function optionText({ capsule, startedAt, status, id, task }: SessionRow): string {
  const text = `…${id.slice(-4)} · ${capsule} · ${startedAt === null ? '' : minute(startedAt)} · ${status} · ${task.slice(0, 60)}`;
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '');
}

function Compared({ id, view, facts, source, makeWorker }: CompareProps & { readonly id: string }): JSX.Element {
  const comparison = useLoading(() => source.compare(facts.id, id), [id]);
  const other = useOther(id, source, makeWorker);
  if (comparison.kind === 'loading') return <p class="empty">Comparing…</p>;
  return (
    <>
      {comparison.kind === 'fault' ? (
        <p class="note padded">{comparison.why}</p>
      ) : (
        comparison.value !== null && <PartingPart comparison={comparison.value} />
      )}
      {other.kind === 'fault' && <p class="note padded">{other.why}</p>}
      {other.kind === 'there' && (
        <SideBySide
          view={view}
          other={other.value}
          parting={comparison.kind === 'there' ? (comparison.value?.parting ?? null) : null}
        />
      )}
    </>
  );
}

/** Reads the other session, as long as it is compared with. */
function useOther(id: string, source: Source, makeWorker: WorkerMaker): Loading<Session> {
  const facts = useLoading(() => source.facts(id), [id]);
  const [session, setSession] = useState<Session | null>(null);
  useEffect(() => {
    if (facts.kind !== 'there') return undefined;
    const opened = new Session(makeWorker(), source.place({ ...facts.value, isLive: false }));
    setSession(opened);
    return () => opened.close();
  }, [facts.kind]);
  if (facts.kind === 'fault') return facts;
  return session === null ? { kind: 'loading' } : { kind: 'there', value: session };
}

function PartingPart({ comparison: { parting, notes } }: { readonly comparison: Comparison }): JSX.Element {
  const doubts = notes.map((note) => <p class="note">{theirs(note)}</p>);
  if (parting === null)
    return notes.length > 0 ? (
      <div class="parting">{doubts}</div>
    ) : (
      <p class="parting same">The same but for ids and times.</p>
    );
  const { difference } = parting;
  return (
    <div class="parting" tabIndex={0}>
      {doubts}
      <h2>They part {theirs(whereOf(parting))}</h2>
      <p>{theirs(whatOf(parting))}</p>
      {difference !== null && (
        <div class="two">
          <Side title="This session">
            <TextBlock text={{ kind: 'text', text: difference.a, more: 0 }} kind="del" />
          </Side>
          <Side title="The other">
            <TextBlock text={{ kind: 'text', text: difference.b, more: 0 }} kind="add" />
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

function whereOf({ steps, task, turn }: Parting): string {
  const step = steps.a ?? steps.b;
  if (step !== null) return `at step ${step}${turn === null ? '' : `, turn ${turn}`}`;
  return task === null ? 'somewhere' : `at task ${task}`;
}

function whatOf({ kind, part, message, name, difference, steps }: Parting): string {
  const place = difference === null || difference.path === '' ? '' : ` at ${difference.path}`;
  switch (kind) {
    case 'task':
      return 'The task was given another text.';
    case 'end':
      return 'The task came to another end.';
    case 'missing':
      return `Only ${steps.a === null ? 'the other session' : 'this session'} has this step: ${name}.`;
    case 'answer':
      return `The model was asked the same and answered something else${place}.`;
    case 'request':
      return message === null
        ? `The model was asked with another ${part}${place}.`
        : `Message ${message.number} of the request, of ${message.role}, is not the same${place}.`;
    default:
      return `${name} was called with another ${part}${place}.`;
  }
}

function SideBySide({
  view,
  other,
  parting,
}: {
  readonly view: View;
  readonly other: Session;
  readonly parting: Parting | null;
}): JSX.Element {
  const { session } = view;
  const mine = useLoading(() => session.ask('steps', null), [session.journal.value?.steps]);
  const its = useLoading(() => other.ask('steps', null), [other.journal.value?.steps]);
  const active = useSignal(-1);
  const [a, b] = [mine.kind === 'there' ? mine.value : [], its.kind === 'there' ? its.value : []];
  const rows = useMemo(() => align(a, b), [a, b]);
  const parted = parting === null ? -1 : partingRow(rows, parting.steps);
  useEffect(() => void (active.value = parted), [parted]);
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
          active={active.value}
          isGrowing={false}
          onMove={(index) => void (active.value = index)}
          onOpen={() => {}}
          layout="compare-columns"
          columns={[['This session'], ['Took', 'num'], ['The other'], ['Took', 'num']]}
          rows={() => (index, attributes) => (
            <ComparedRow
              row={rows[index] ?? { a: null, b: null }}
              isParting={index === parted}
              attributes={attributes}
              onChoose={() => void (active.value = index)}
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
        {step.hasFailed && <b class="bad"> failed</b>}
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
