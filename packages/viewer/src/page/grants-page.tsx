/** The tab Grants: what was asked for, what was granted, what of it was used or refused, and what nothing stops. */

import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';

import type { ViewedFacts } from '@svc/protocol/viewed-session.ts';
import { type GrantRow, grantRows, Uses } from '../store/grant-rows.ts';
import type { View } from '../store/view.ts';
import { count, counted } from '../text/words.ts';
import { Theirs, theirs } from './theirs.tsx';

interface GrantsProps {
  readonly view: View;
  readonly facts: ViewedFacts;
}

export function GrantsPage({ view, facts }: GrantsProps): JSX.Element {
  const { session } = view;
  const start = session.start.value;
  const known = view.restedCount.value;
  const uses = useMemo(() => new Uses(session.columns, known), [known]);
  const { granted } = facts;
  if (start === null || granted === null) {
    return <p class="empty">{session.whyEmpty('The trace does not say what this session was granted.')}</p>;
  }
  // Where nothing holds programs to hosts, nobody sees where they connect.
  const seesConnections = uses.hasConnections || (session.hasEvidence.value && start.achieved !== 'advisory');
  const rows = grantRows(granted, uses, seesConnections);
  const recorded = rows.filter(({ use, isOpen }) => use !== null && (use.row !== -1 || !isOpen));
  const unused = recorded.filter(({ use }) => use?.row === -1);
  const refused = uses.refusals.reduce((sum, each) => sum + each.count, 0);
  return (
    <section class="page" aria-label="Grants" tabIndex={0}>
      <div class="cards">
        <Card title="Containment">
          <p class={`figure ${start.achieved === 'advisory' ? 'warn' : ''}`}>
            {theirs(start.achieved || 'not recorded')}
          </p>
          <p class="faint">
            asked for at least <Theirs text={start.declared || 'nothing'} />
          </p>
          <p class="faint mono small">{theirs(start.mechanism)}</p>
        </Card>
        <Card title="Granted and never used">
          <p class="figure">{count(unused.length)}</p>
          <p class="faint">of {counted(recorded.length, 'grant')} whose use is recorded</p>
        </Card>
        <Card title="Refused">
          <p class={`figure ${refused > 0 ? 'bad' : ''}`}>{count(refused)}</p>
          <p class="faint">
            {refused === 0
              ? 'No request was denied.'
              : `${refused === 1 ? 'try that was' : 'tries that were'} not let through`}
          </p>
        </Card>
      </div>
      <GrantTable rows={rows} view={view} />
      {uses.refusals.length > 0 && (
        <>
          <h2>Refused</h2>
          <ul class="picks wide-picks">
            {uses.refusals.slice(0, 100).map(({ name, detail, count: times, row }) => (
              <li>
                <button onClick={() => view.select(row)}>
                  <span class="theirs mono">
                    {theirs(name)} <small>{theirs(detail)}</small>
                  </span>
                  <b class="bad">{counted(times, 'time')}</b>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {granted.limits.length > 0 && <Sentences title="Limits" sentences={granted.limits} />}
      <Sentences
        title="Not stopped"
        sentences={facts.notStopped.length > 0 ? facts.notStopped : ['Not known for this session.']}
      />
    </section>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class="card">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

function Sentences({
  title,
  sentences,
}: {
  readonly title: string;
  readonly sentences: readonly string[];
}): JSX.Element {
  return (
    <>
      <h2>{title}</h2>
      <ul class="sentences">
        {sentences.map((sentence) => (
          <li class="theirs">{theirs(sentence)}</li>
        ))}
      </ul>
    </>
  );
}

function GrantTable({ rows, view }: { readonly rows: readonly GrantRow[]; readonly view: View }): JSX.Element {
  if (rows.length === 0) return <p class="empty">Nothing was granted beyond what every session has.</p>;
  return (
    <table class="grants">
      <caption class="off">What was granted, and what was used of it</caption>
      <thead>
        <tr>
          <th scope="col">Grant</th>
          <th scope="col">What</th>
          <th scope="col">Asked in</th>
          <th scope="col" class="num">
            Used
          </th>
          <th scope="col" class="num">
            Failed
          </th>
          <th scope="col" class="num">
            Refused
          </th>
          <th scope="col">Recorded</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, 1000).map((row) => (
          <Grant row={row} view={view} />
        ))}
      </tbody>
    </table>
  );
}

function Grant({
  row: { kind, what, line, use, isOpen },
  view,
}: {
  readonly row: GrantRow;
  readonly view: View;
}): JSX.Element {
  return (
    <tr>
      <td class="theirs muted">{theirs(kind)}</td>
      <td class="theirs mono">{theirs(what)}</td>
      <td class="muted">{line === null ? '–' : <span class="nowrap">svc.yaml, line {line}</span>}</td>
      <td class="num">{use === null ? '–' : count(use.used)}</td>
      <td class="num">{use === null ? '–' : use.failed > 0 ? <b class="bad">{count(use.failed)}</b> : '0'}</td>
      <td class="num">{use === null ? '–' : use.refused > 0 ? <b class="bad">{count(use.refused)}</b> : '0'}</td>
      <td>
        {use === null ? (
          <span class="faint">not recorded</span>
        ) : use.row === -1 ? (
          <span class="warn">{isOpen ? 'not called by the model' : 'never used'}</span>
        ) : (
          <button
            class="link"
            onClick={() => {
              view.reset();
              view.onlyName.value = use.name;
              view.tab.value = 'steps';
            }}
          >
            Show steps
          </button>
        )}
      </td>
    </tr>
  );
}
