/** The tab Compare: where two sessions differ, as `svc trace diff` says it. */

import type { ListedSession, ViewedComparison, ViewedFacts } from '@svc/protocol/viewed-session.ts';
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { ServedSource, Source } from '../store/source.ts';
import { withoutOdd } from '../text/odd-characters.ts';
import { minute } from '../text/words.ts';
import { useLoading } from './loading.tsx';
import { TextBlock, theirs } from './theirs.tsx';

interface CompareProps {
  readonly facts: ViewedFacts;
  readonly source: ServedSource;
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

function Compare({ facts, source }: CompareProps): JSX.Element {
  const sessions = useLoading(() => source.sessions(), []);
  const [other, setOther] = useState('');
  const listed = sessions.kind === 'there' ? sessions.value.sessions : [];
  const others = listed.filter(({ session_id: id }) => id !== facts.id);
  return (
    <section class="compare" aria-label="Compare">
      <div class="compare-head">
        <label>
          <span class="muted">Compare with</span>{' '}
          <select value={other} onChange={({ currentTarget }) => setOther(currentTarget.value)}>
            <option value="">
              {others.length === 0 && sessions.kind === 'there' ? 'no other session is here' : 'choose a session'}
            </option>
            {others.map((row) => (
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
        <Compared key={other} id={other} facts={facts} source={source} />
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

function Compared({ id, facts, source }: CompareProps & { readonly id: string }): JSX.Element {
  const comparison = useLoading(() => source.compare(facts.id, id), []);
  switch (comparison.kind) {
    case 'loading':
      return <p class="empty">Comparing…</p>;
    case 'fault':
      return <p class="note padded">{comparison.why}</p>;
    case 'there':
      return <PartingPart comparison={comparison.value} />;
  }
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
