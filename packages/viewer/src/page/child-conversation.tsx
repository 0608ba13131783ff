/** A session that a task asked for, within the conversation of that task: read when it is opened. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import type { Child } from '@svc/protocol/viewed-rows.ts';
import type { Source } from '../store/source.ts';
import type { View } from '../store/view.ts';
import { duration } from '../text/words.ts';
import { useOpened } from './opened-session.ts';
import { theirs } from './theirs.tsx';
import type { WorkerMaker } from './workers.ts';

interface ChildProps {
  readonly view: View;
  readonly source: Source;
  readonly makeWorker: WorkerMaker;
  /** How many conversations this one is inside of. */
  readonly depth: number;
  /** The conversation of the child, once it is read. */
  readonly inner: (view: View) => JSX.Element;
}

/** Deeper ones are opened as pages of their own. */
const deepest = 3;

export function ChildConversation({ row, ...props }: ChildProps & { readonly row: number }): JSX.Element {
  const { view, source, depth } = props;
  const [isOpen, setOpen] = useState(false);
  const child = view.session.children.value.find((each) => each.row === row);
  const canOpen = child?.sessionId != null && source.isServed && depth < deepest;
  return (
    <article class="child-talk lane3">
      <button
        class="call-head"
        aria-expanded={canOpen ? isOpen : undefined}
        onClick={() => (canOpen ? setOpen(!isOpen) : view.select(row))}
      >
        <i class="square" />
        <span class="call-name theirs mono">
          <span class="off">Child </span>
          {theirs(child?.capsule ?? view.session.columns.nameOf(row))}{' '}
          <span class="muted">{theirs(child?.version ?? '')}</span>
        </span>
        <span class="call-facts">{theirs(wordsOf(child))}</span>
        {canOpen && <span class="chevron" />}
      </button>
      {isOpen && child?.sessionId != null && <Opened id={child.sessionId} {...props} />}
    </article>
  );
}

function wordsOf(child: Child | undefined): string {
  if (child === undefined) return '';
  return child.status === 'started' ? 'running' : child.status;
}

function Opened({ id, source, makeWorker, inner }: ChildProps & { readonly id: string }): JSX.Element {
  const { view, facts } = useOpened(id, source, makeWorker);
  if (facts.kind === 'fault') return <p class="note">Its session is not here: {facts.why}</p>;
  return (
    <div class="nested">
      <p class="faint">
        {theirs(view.session.start.value?.capsule ?? '')}, {duration(view.session.columns.end)}
      </p>
      {inner(view)}
    </div>
  );
}
