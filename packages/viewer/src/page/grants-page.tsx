/** The tab Grants: what was asked for, what was granted, what of it was used or refused, and what nothing stops. */

import type { ViewedFacts } from '@svc/protocol/viewed-session.ts';
import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';

import type { SessionStart, ShownText } from '../messages.ts';
import { type GrantRow, grantRows, manifestLine, Uses } from '../store/grant-rows.ts';
import type { View } from '../store/view.ts';
import { count, counted, size } from '../text/words.ts';
import { type Loading, useLoading } from './loading.ts';
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
  const manifest = session.journal.value?.manifest ?? null;
  const text = useLoading(async () => (manifest === null ? null : await session.ask('body', manifest)), [manifest]);
  if (start === null) {
    return <p class="empty">{session.whyEmpty('The trace does not say what this session was granted.')}</p>;
  }
  const rows = grantRows(start, uses, session.hasEvidence.value);
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
              ? 'Nothing that was tried was refused.'
              : `${refused === 1 ? 'try that was' : 'tries that were'} not let through`}
          </p>
        </Card>
      </div>
      <GrantTable rows={rows} view={view} manifest={manifestText(text)} />
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
      <Limits start={start} />
      <h2>Not stopped</h2>
      {facts.notStopped.length === 0 ? (
        <p class="note">Not known for this session.</p>
      ) : (
        <ul class="sentences">
          {facts.notStopped.map((sentence) => (
            <li class="theirs">{theirs(sentence)}</li>
          ))}
        </ul>
      )}
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

function manifestText(text: Loading<ShownText | null>): string {
  return text.kind === 'there' && text.value?.kind === 'text' ? text.value.text : '';
}

function GrantTable({
  rows,
  view,
  manifest,
}: {
  readonly rows: readonly GrantRow[];
  readonly view: View;
  readonly manifest: string;
}): JSX.Element {
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
          <th scope="col">Evidence</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, 1000).map((row) => (
          <Grant row={row} view={view} manifest={manifest} />
        ))}
      </tbody>
    </table>
  );
}

function Grant({
  row: { kind, what, asked, use, isOpen },
  view,
  manifest,
}: {
  readonly row: GrantRow;
  readonly view: View;
  readonly manifest: string;
}): JSX.Element {
  const line = asked === null || manifest === '' ? null : manifestLine(manifest, asked);
  return (
    <tr>
      <td class="muted">{kind}</td>
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

function Limits({ start }: { readonly start: SessionStart }): JSX.Element | null {
  const { limits } = start.grants;
  if (limits.length === 0) return null;
  return (
    <>
      <h2>Limits</h2>
      <ul class="sentences">
        {limits.map(({ resource, of, max, heldBy }) => (
          <li class="theirs">
            {theirs(`${resource} of a ${of}`)}:{' '}
            {max === null ? 'no limit' : resource === 'memory' ? size(max) : count(max)}
            {max !== null && <span class="faint"> held by {theirs(heldBy)}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
