/** The rail of tasks: each with its state, and below it the sessions that it asked for. */

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import type { Child } from '@svc/protocol/viewed-rows.ts';
import type { Task } from '../store/session.ts';
import type { View } from '../store/view.ts';
import { withoutOdd } from '../text/odd-characters.ts';
import { count, duration } from '../text/words.ts';
import { dotOf } from './sessions-list.tsx';
import { theirs } from './theirs.tsx';

type Entry = { readonly task: Task } | { readonly child: Child };

const entryHeight = 54;

export function TasksRail({ view }: { readonly view: View }): JSX.Element {
  const { tasks, children } = view.session;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(900);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 900));
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, [tasks.value.length === 0]);
  const entries = entriesOf(tasks.value, children.value);
  const first = Math.max(0, Math.floor(top / entryHeight) - 2);
  const last = Math.min(entries.length, first + Math.ceil(height / entryHeight) + 4);
  return (
    <nav class={`rail ${view.isRailOpen.value ? 'open' : ''}`} aria-label="Tasks">
      <h2>
        Tasks <span class="faint">{count(tasks.value.length)}</span>
        <button class="icon narrow" aria-label="Close" onClick={() => void (view.isRailOpen.value = false)}>
          ✕
        </button>
      </h2>
      {entries.length === 0 ? (
        <p class="empty small">
          {view.session.whole.value !== null || view.session.lost.value !== ''
            ? 'This session was given no task.'
            : 'No task yet.'}
        </p>
      ) : (
        <div class="rail-scroll" ref={box} onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}>
          <ul style={{ height: `${entries.length * entryHeight + 8}px` }}>
            {entries.slice(first, last).map((entry, index) => {
              const at = (first + index) * entryHeight;
              return 'task' in entry ? (
                <TaskEntry key={`t${entry.task.index}`} task={entry.task} view={view} top={at} />
              ) : (
                <ChildEntry key={`c${entry.child.row}`} child={entry.child} view={view} top={at} />
              );
            })}
          </ul>
        </div>
      )}
    </nav>
  );
}

function entriesOf(tasks: readonly Task[], children: readonly Child[]): readonly Entry[] {
  if (children.length === 0) return tasks.map((task) => ({ task }));
  const byTask = new Map<number, Child[]>();
  for (const child of children) byTask.set(child.task, [...(byTask.get(child.task) ?? []), child]);
  return tasks.flatMap((task): Entry[] => [{ task }, ...(byTask.get(task.index) ?? []).map((child) => ({ child }))]);
}

interface TaskEntryProps {
  readonly task: Task;
  readonly view: View;
  readonly top: number;
}

function TaskEntry({ task, view, top }: TaskEntryProps): JSX.Element {
  const isChosen = view.onlyTask.value === task.index;
  const state = stateOf(task, view);
  const { sums, tokensOf } = view.session;
  // The trace counts the tokens of a task at its end. Until then its turns count, together with the sums.
  const tokens =
    task.state === undefined && sums.value.modelCalls > 0 ? (tokensOf[task.index] ?? 0) : tokensOfEnd(task);
  return (
    <li style={{ top: `${top}px` }}>
      <button
        class={`task ${isChosen ? 'on' : ''}`}
        title={withoutOdd(task.text)}
        aria-pressed={isChosen}
        onClick={() => {
          view.pickTask(task.index);
          view.isRailOpen.value = false;
        }}
      >
        <i
          class={`dot ${state === 'waits for you' ? 'asking' : dotOf(state === 'not ended' ? 'canceled' : (task.state ?? 'running'))}`}
        />
        <span class="task-text">{theirs(task.text)}</span>
        <span class="task-facts">
          <span>{theirs(state)}</span>
          {task.isUntrusted && <span class="warn"> · untrusted</span>}
          {tokens > 0 && <span> · {count(tokens)} tokens</span>}
          {task.durationMs !== undefined && task.durationMs > 0 && <span> · {duration(task.durationMs)}</span>}
        </span>
      </button>
    </li>
  );
}

/** What a task took in all, as its end says. */
export function tokensOfEnd({ input = 0, output = 0 }: Task): number {
  return input + output;
}

/** The word for where a task stands. */
export function stateOf(task: Task, { session }: View): string {
  if (task.state !== undefined) return task.state;
  const live = session.live.value;
  if (live === null) return session.whole.value === null ? 'running' : 'not ended';
  if (live.question?.task === task.id) return 'waits for you';
  return live.task === task.id ? 'running' : 'waiting';
}

function ChildEntry({ child, view, top }: { readonly child: Child } & Omit<TaskEntryProps, 'task'>): JSX.Element {
  const isBad = ['failed', 'refused', 'error', 'crashed'].includes(child.status);
  return (
    <li class="child" style={{ top: `${top}px` }}>
      <button
        class={`task ${view.selected.value === child.row ? 'on' : ''}`}
        onClick={() => {
          view.select(child.row);
          view.isRailOpen.value = false;
        }}
      >
        <i class={`dot ${isBad ? 'failed' : child.status === 'started' ? 'working' : 'completed'}`} />
        <span class="task-text">
          <span class="off">Child </span>
          {theirs(child.capsule)}
        </span>
        <span class="task-facts">
          <span>{theirs(child.status)}</span>
          {child.sessionId !== null && <span> · …{theirs(child.sessionId.slice(-4))}</span>}
        </span>
      </button>
    </li>
  );
}
