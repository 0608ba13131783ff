/** The page of one session: reads it as long as it is looked at, and puts its parts together. */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import type { ViewedFacts } from '@svc/protocol/viewed-session.ts';
import { type Source, unknownFacts } from '../store/source.ts';
import type { Tab, View } from '../store/view.ts';
import { withoutOdd } from '../text/odd-characters.ts';
import { counted } from '../text/words.ts';
import { address, arrival, goTo, stayAt } from './address.ts';
import { ComparePage } from './compare-page.tsx';
import { Conversation } from './conversation.tsx';
import { FilesPage } from './files-page.tsx';
import { GrantsPage } from './grants-page.tsx';
import { Header } from './header.tsx';
import { keyList, listenToKeys } from './keys.ts';
import { useLoading } from './loading.tsx';
import { useOpened } from './opened-session.ts';
import { ApprovalBanner } from './approval-banner.tsx';
import { QuestionBanner } from './question-banner.tsx';
import { SidePanel } from './side-panel.tsx';
import { Steps } from './steps.tsx';
import { TasksRail } from './tasks-rail.tsx';
import { theirs } from './theirs.tsx';
import { Timeline } from './timeline.tsx';
import { ToolBar } from './tool-bar.tsx';
import type { WorkerMaker } from './workers.ts';

interface LoaderProps {
  readonly id: string;
  readonly source: Source;
  readonly makeWorker: WorkerMaker;
}

/** Opens a session, and shows why where it cannot be. */
export function SessionLoader({ id, source, makeWorker }: LoaderProps): JSX.Element {
  const { view, facts } = useOpened(id, source, makeWorker, address.value.tab);
  if (facts.kind === 'fault') {
    return (
      <main class="lone">
        <h1>This session cannot be shown</h1>
        <p class="theirs">{theirs(facts.why)}</p>
        {source.isServed && (
          <button class="button" onClick={() => goTo({ session: null, tab: 'steps', step: null })}>
            All sessions
          </button>
        )}
      </main>
    );
  }
  const known = facts.kind === 'there' ? facts.value : { ...unknownFacts, id };
  return <SessionPage view={view} facts={known} source={source} makeWorker={makeWorker} />;
}

interface SessionPageProps extends Omit<LoaderProps, 'id'> {
  readonly view: View;
  readonly facts: ViewedFacts;
}

function SessionPage({ view, facts: first, source, makeWorker }: SessionPageProps): JSX.Element {
  const [unsent, setUnsent] = useState('');
  useAddress(view);
  useTitle(view);
  const { whole } = view.session;
  // What is wrong with the record of a session that runs is known at its end.
  const last = useLoading(
    async () => (first.live && whole.value !== null ? await source.facts(first.id) : first),
    [first, whole.value],
  );
  const facts = last.kind === 'there' ? { ...last.value, live: first.live } : first;
  useEffect(() => listenToKeys(view), [view]);
  const question = view.session.live.value?.question ?? null;
  // The sums of a session say nothing about its grants, files and other sessions.
  const hasPanel = view.selected.value !== -1 || view.tab.value === 'steps' || view.tab.value === 'conversation';
  const asking = view.session.tasks.value.find(({ id }) => id === question?.task);
  return (
    <>
      <Header view={view} facts={facts} hasList={source.isServed} />
      <Notes view={view} facts={facts} unsent={unsent} />
      {question?.approval !== undefined && (
        <ApprovalBanner
          key={question.approval.id}
          approval={question.approval}
          taskText={asking?.text ?? ''}
          facts={facts}
          source={source}
          onUnsent={setUnsent}
        />
      )}
      {question !== null && question.approval === undefined && (
        <QuestionBanner
          key={question.wait}
          question={question}
          taskText={asking?.text ?? ''}
          facts={facts}
          source={source}
          onUnsent={setUnsent}
        />
      )}
      <div class={`body ${hasPanel ? '' : 'without-panel'}`}>
        <TasksRail view={view} />
        <main class="middle">
          {view.tab.value === 'steps' && <Timeline view={view} />}
          <ToolBar view={view} />
          <div class="tab-panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${view.tab.value}`}>
            <TabPage tab={view.tab.value} view={view} facts={facts} source={source} makeWorker={makeWorker} />
          </div>
        </main>
        {hasPanel && <SidePanel view={view} isServed={source.isServed} />}
      </div>
      <Spoken view={view} />
      {view.areKeysShown.value && <Keys onClose={() => void (view.areKeysShown.value = false)} />}
    </>
  );
}

function TabPage({ tab, ...props }: SessionPageProps & { readonly tab: Tab }): JSX.Element {
  switch (tab) {
    case 'steps':
      return <Steps view={props.view} />;
    case 'conversation':
      return <Conversation {...props} depth={0} />;
    case 'grants':
      return <GrantsPage {...props} />;
    case 'files':
      return <FilesPage {...props} />;
    case 'compare':
      return <ComparePage {...props} />;
  }
}

/** The address follows the tab and the chosen step; a step that the address names is chosen as soon as it is there. */
function useAddress(view: View): void {
  const { session, selected, tab } = view;
  const wanted = useRef<string | null>(null);
  const row = selected.value;
  // Where somebody went by the address: what the page itself writes into it is not taken for that.
  useEffect(() => {
    tab.value = arrival.value.tab;
    wanted.current = arrival.value.step;
  }, [arrival.value]);
  useLoading(
    async () => {
      const step = wanted.current;
      if (step === null || session.count.value === 0) return;
      const found = await session.ask('find', step);
      if (found === -1 || wanted.current !== step) return;
      wanted.current = null;
      view.select(found);
    },
    [view.restedCount.value > 0, session.whole.value, arrival.value],
    { follows: () => view.slowCount.value },
  );
  useEffect(() => {
    const { session: id, step } = address.value;
    if (row === -1) {
      stayAt({ session: id, tab: tab.value, step: wanted.current === null ? null : step });
      return undefined;
    }
    let isWanted = true;
    wanted.current = null;
    session.ask('detail', row).then(
      ({ eventId }) => isWanted && stayAt({ session: id, tab: tab.value, step: eventId }),
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [row, tab.value]);
}

function useTitle({ session }: View): void {
  const { start, live, lost } = session;
  const name = withoutOdd(start.value?.capsule ?? '');
  const mark = live.value?.question == null ? '' : '(?) ';
  useEffect(() => {
    document.title = `${mark}${name === '' ? 'Session' : name} · svc${lost.value === '' ? '' : ' · incomplete'}`;
  }, [name, mark, lost.value]);
}

/** One line each: what is not as usual with what is shown. */
function Notes({
  view,
  facts,
  unsent,
}: {
  readonly view: View;
  readonly facts: ViewedFacts;
  readonly unsent: string;
}): JSX.Element | null {
  const lost = view.session.lost.value;
  const notes = [
    ...facts.notes,
    ...(unsent === '' ? [] : [`The question does not wait any more. ${unsent}`]),
    ...(lost === '' ? [] : [lost]),
    ...(view.hasSearchFailed.value ? ['The search covered visible columns only.'] : []),
  ];
  if (notes.length === 0) return null;
  return (
    <div class="notes" role="status" tabIndex={notes.length > 3 ? 0 : undefined}>
      {notes.map((note) => (
        <p class="theirs">{theirs(note)}</p>
      ))}
    </div>
  );
}

/** What a screen reader says while things happen. */
function Spoken({ view }: { readonly view: View }): JSX.Element {
  const { session, selected, shown } = view;
  const { live, whole, columns } = session;
  const row = selected.value;
  const words = [
    whole.value === null ? '' : `${counted(session.count.value, 'line')}.`,
    live.value?.question == null ? '' : 'A question waits for you.',
    row === -1 ? '' : `Chosen: ${withoutOdd(columns.nameOf(row))}.`,
    shown.length === session.count.value ? '' : `${counted(shown.length, 'line')} shown.`,
  ];
  return (
    <p class="off" role="status" aria-live="polite">
      {words.filter((word) => word !== '').join(' ')}
    </p>
  );
}

function Keys({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { activeElement } = document;
    box.current?.showModal();
    return () => {
      if (activeElement instanceof HTMLElement) activeElement.focus();
    };
  }, []);
  return (
    <dialog class="keys" ref={box} aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {keyList.map(([keys, what]) => (
          <>
            <dt>{keys.split(' ').map((key) => (key === '–' ? ' – ' : <kbd>{key}</kbd>))}</dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <button class="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
