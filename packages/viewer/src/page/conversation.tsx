/** The tab Conversation: one task as it was talked. */

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import * as kinds from '@svc/protocol/row-kinds.ts';
import { betweenDetails } from '@svc/protocol/viewed-rows.ts';
import { conversationOf, type Talk } from '../store/conversation.ts';
import type { Task } from '../store/session.ts';
import type { Source } from '../store/source.ts';
import { View } from '../store/view.ts';
import { count, counted, duration } from '../text/words.ts';
import { CallCard } from './call-card.tsx';
import { ChildConversation } from './child-conversation.tsx';
import { howDrawn } from './drawn-markdown.tsx';
import { LiveTurn } from './live-turn.tsx';
import { loaded, useDetail, useLoading } from './loading.tsx';
import { dotOf } from './sessions-list.tsx';
import { Parts } from './step-texts.tsx';
import { stateOf, tokensOfEnd } from './tasks-rail.tsx';
import { TextBlock, theirs } from './theirs.tsx';
import type { WorkerMaker } from './workers.ts';

interface ConversationProps {
  readonly view: View;
  readonly source: Source;
  readonly makeWorker: WorkerMaker;
  /** How many conversations this one is inside of. */
  readonly depth: number;
}

/** Turns that are put into the document at once. */
const turnsAtOnce = 40;

export function Conversation(props: ConversationProps): JSX.Element {
  const { view } = props;
  const { tasks } = view.session;
  const waiting = view.session.live.value?.question?.task;
  // Without a choice, the task that a person was asked in last stays once it goes on.
  const asked = useRef(0);
  const place = tasks.value.findLastIndex(({ id }) => id === waiting);
  if (place !== -1) asked.current = place;
  const index = view.onlyTask.value === -1 ? asked.current : view.onlyTask.value;
  const task = tasks.value[index];
  if (task === undefined) {
    return <p class="empty">{view.session.whyEmpty('This session was given no task, so nothing was said.')}</p>;
  }
  return (
    <section class="talk" aria-label="Conversation" tabIndex={props.depth === 0 ? 0 : undefined}>
      <div class="talk-column">
        {props.depth === 0 && view.onlyTask.value === -1 && tasks.value.length > 1 && (
          <p class="note">
            Task {count(index + 1)} of {count(tasks.value.length)}. Choose another in the list of tasks.
          </p>
        )}
        <TaskConversation key={task.index} {...props} task={task} />
      </div>
    </section>
  );
}

function TaskConversation({ task, ...props }: ConversationProps & { readonly task: Task }): JSX.Element {
  const { view } = props;
  const { columns } = view.session;
  const [from, setFrom] = useState(0);
  const known = view.restedCount.value;
  const talks = useMemo(() => conversationOf(task.index, task.firstRow, known, columns), [task.index, known]);
  const chosen = useChosenPlace(view, talks, setFrom);
  const shown = talks.slice(from, from + turnsAtOnce);
  const rest = talks.length - from - shown.length;
  const lastTurn = talks.findLast(({ row }) => columns.kindOf(row) === kinds.model)?.row ?? null;
  return (
    <>
      <Request task={task} view={view} />
      {from > 0 && (
        <button class="more" onClick={() => setFrom(Math.max(0, from - turnsAtOnce))}>
          Show earlier, {count(from)} are left out
        </button>
      )}
      {shown.map((talk, index) => (
        <TalkPart key={talk.row} talk={talk} isChosen={from + index === chosen} {...props} />
      ))}
      {rest > 0 && (
        <button class="more" onClick={() => setFrom(from + turnsAtOnce)}>
          Show later, {count(rest)} are left
        </button>
      )}
      {rest <= 0 && task.state === undefined && <LiveTurn task={task} view={view} lastTurn={lastTurn} />}
      {rest <= 0 && <Result task={task} view={view} lastTurn={lastTurn} />}
    </>
  );
}

/** Brings a step that was chosen elsewhere into the part that is shown. */
function useChosenPlace(view: View, talks: readonly Talk[], setFrom: (from: number) => void): number {
  const row = view.selected.value;
  const place =
    row === -1 ? -1 : talks.findIndex((talk) => talk.row === row || (talk.kind === 'turn' && talk.calls.includes(row)));
  useEffect(() => {
    if (place >= turnsAtOnce) setFrom(place - (place % turnsAtOnce));
  }, [place >= 0 ? Math.floor(place / turnsAtOnce) : -1]);
  return place;
}

function Request({ task, view }: { readonly task: Task; readonly view: View }): JSX.Element {
  const detail = useLoading(() => view.session.ask('detail', task.firstRow), [task.firstRow]);
  const text = detail.kind === 'there' ? detail.value.texts.find(({ label }) => label === 'Text')?.text : undefined;
  return (
    <article class="request">
      <h2>
        {originOf(task)}
        {task.isUntrusted && <em> untrusted</em>}
      </h2>
      <TextBlock text={text ?? { kind: 'text', text: task.text, more: 0 }} kind="prose" />
    </article>
  );
}

function originOf({ origin }: Task): string {
  if (origin === 'peer') return 'Another agent';
  return origin === 'completion' ? 'The end of something that ran by itself' : 'Request';
}

interface TalkPartProps extends ConversationProps {
  readonly talk: Talk;
  readonly isChosen: boolean;
}

function TalkPart({ talk, isChosen, ...props }: TalkPartProps): JSX.Element {
  const { view } = props;
  switch (talk.kind) {
    case 'turn':
      return <Turn talk={talk} view={view} isChosen={isChosen} />;
    case 'question':
      return <Question row={talk.row} view={view} />;
    case 'child':
      return (
        <ChildConversation
          row={talk.row}
          {...props}
          inner={(inside) => <Conversation {...props} view={inside} depth={props.depth + 1} />}
        />
      );
    case 'rule':
      return <Rule row={talk.row} view={view} />;
    case 'end':
      return <End row={talk.row} view={view} />;
  }
}

function Turn({
  talk,
  view,
  isChosen,
}: {
  readonly talk: Extract<Talk, { readonly kind: 'turn' }>;
  readonly view: View;
  readonly isChosen: boolean;
}): JSX.Element {
  const { columns } = view.session;
  const { row, calls } = talk;
  const isModel = columns.kindOf(row) === kinds.model;
  const isBad = columns.flagsOf(row) !== 0;
  const detail = columns.detailOf(row);
  const [model = ''] = detail.split(betweenDetails);
  const [input, output] = [columns.inputOf(row), columns.outputOf(row)];
  return (
    <article class={`turn ${isChosen ? 'chosen' : ''}`}>
      {isModel && (
        <button class="turn-head" onClick={() => view.select(row)}>
          <b>{theirs(columns.nameOf(row))}</b>{' '}
          <span class={`theirs ${isBad ? 'bad' : ''}`}>{isBad ? <>failed: {theirs(detail)}</> : theirs(model)}</span>
          <span class="turn-facts">
            {duration(columns.durationOf(row))}
            {input + output > 0 && ` · ${count(input)} in, ${count(output)} out`}
          </span>
        </button>
      )}
      {isModel && view.session.hasJournal.value && <Said row={row} view={view} />}
      {calls.length > 0 && (
        <div class="calls">
          {calls.map((call) => (
            <CallCard key={call} row={call} view={view} />
          ))}
        </div>
      )}
    </article>
  );
}

function Said({ row, view }: { readonly row: number; readonly view: View }): JSX.Element {
  const detail = useDetail(view, row);
  return loaded(detail, (there) => <Parts detail={there} isBare />);
}

function Question({ row, view }: { readonly row: number; readonly view: View }): JSX.Element {
  const { columns } = view.session;
  const detail = useDetail(view, row);
  if (detail.kind !== 'there') return <p class="note">Reading…</p>;
  const prompt = detail.value.texts.find(({ label }) => label === 'Question');
  const outcome = `${detail.value.facts.find(([label]) => label === 'Outcome')?.[1] ?? ''}`;
  return (
    <article class="question">
      <button class="turn-head" onClick={() => view.select(row)}>
        <b>Question</b> <span class="theirs">{theirs(outcome)}</span>
        <span class="turn-facts">after {duration(columns.durationOf(row))}</span>
      </button>
      {prompt !== undefined && <TextBlock text={prompt.text} kind="prose" />}
      <Parts detail={detail.value} />
    </article>
  );
}

function Rule({ row, view }: { readonly row: number; readonly view: View }): JSX.Element {
  const { columns } = view.session;
  return (
    <button class="rule" onClick={() => view.select(row)}>
      <span class="theirs">
        <b>{theirs(ruleWord(view, row))}</b> {theirs(columns.detailOf(row))}
      </span>
    </button>
  );
}

function compactionWord(bits: number, detail: string): string {
  if (bits !== 0) return 'The conversation could not be made shorter:';
  return `The conversation was ${detail.startsWith('unchanged') ? 'to be ' : ''}made shorter:`;
}

function ruleWord({ session: { columns } }: View, row: number): string {
  const kind = columns.kindOf(row);
  if (kind === kinds.compaction) return compactionWord(columns.flagsOf(row), columns.detailOf(row));
  if (kind === kinds.reopened) return 'A hook had it done again:';
  if (kind === kinds.hookError) return `The hook ${columns.nameOf(row)} failed:`;
  if (kind === kinds.canceled) return 'Canceled';
  return kind === kinds.ceiling ? 'The most tokens that this session may use were reached.' : 'Again:';
}

function End({ row, view }: { readonly row: number; readonly view: View }): JSX.Element {
  const { columns } = view.session;
  const task = view.session.tasks.value[columns.taskOf(row)];
  const tokens = task === undefined ? 0 : tokensOfEnd(task);
  return (
    <button class="rule end" onClick={() => view.select(row)}>
      <i class={`dot ${dotOf(task?.state ?? '')}`} />
      <span class="theirs">
        <b>{theirs(task?.state ?? 'ended')}</b> after {duration(task?.durationMs ?? 0)},{' '}
        {counted(task?.turns ?? 0, 'turn')}, {count(tokens)} tokens
        {(task?.why ?? '') !== '' && <span class="bad"> · {theirs(task?.why ?? '')}</span>}
      </span>
    </button>
  );
}

/** What the task came to, where the journal has it, and it is not what the conversation shows last. */
function Result({
  task,
  view,
  lastTurn,
}: {
  readonly task: Task;
  readonly view: View;
  readonly lastTurn: number | null;
}): JSX.Element | null {
  const hasJournal = view.session.hasJournal.value;
  const inputs = [task.state, hasJournal, view.session.whole.value];
  const result = useLoading(() => view.session.ask('result', task.id), inputs);
  const last = useLoading(
    async () => (lastTurn === null || !hasJournal ? null : await view.session.ask('detail', lastTurn)),
    [lastTurn, ...inputs],
  );
  if (task.state === undefined) {
    const state = stateOf(task, view);
    return state === 'running' || state === 'waits for you' ? null : <p class="note">This task is {state}.</p>;
  }
  if (!hasJournal)
    return (
      <p class="note">
        Answers and outputs are not here: this session kept no journal, or it was not exported with it.
      </p>
    );
  if (result.kind !== 'there' || result.value.kind === 'none' || last.kind === 'loading') return null;
  const { text } = result.value;
  if (task.state === 'failed' && (task.why ?? '') !== '' && text.startsWith('error: ')) return null;
  const said = last.kind === 'there' ? (last.value?.parts ?? []) : [];
  if (said.some((part) => part.text.kind === 'text' && part.text.text === text)) return null;
  return (
    <article class="result">
      <h2>Result</h2>
      <TextBlock text={result.value} kind="prose" draw={howDrawn()} />
    </article>
  );
}
