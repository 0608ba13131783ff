/** What a running task does right now: the text that is being written, and calls that have not come back. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { LiveNow } from '@svc/protocol/viewed-session.ts';
import type { Task } from '../store/session.ts';
import type { View } from '../store/view.ts';
import { now } from '../text/page-clock.ts';
import { duration } from '../text/words.ts';
import { howDrawn } from './drawn-markdown.tsx';
import { TextBlock, theirs } from './theirs.tsx';

interface LiveTurnProps {
  readonly task: Task;
  readonly view: View;
  /** The row of the last turn that the trace has: while its calls run, it stands above. */
  readonly lastTurn: number | null;
}

export function LiveTurn({ task, view, lastTurn }: LiveTurnProps): JSX.Element | null {
  const live = view.session.live.value;
  const at = useNow(live !== null);
  if (live === null || live.task !== task.id) return null;
  const turn = `turn ${live.turn}`;
  const isTold = live.turn === 0 || turn === view.session.columns.nameOf(lastTurn ?? -1);
  return (
    <article class="turn live-turn" aria-label="Right now">
      <p class="turn-head">
        <b>{isTold ? 'now' : turn}</b> <span class="theirs">{theirs(live.model)}</span>
        <span class="turn-facts">{doingOf(live)}</span>
      </p>
      {live.retry !== '' && <p class="note">Asked again: {theirs(live.retry)}</p>}
      {live.text !== '' && (
        <TextBlock
          text={{ kind: 'text', text: live.text, more: 0 }}
          kind={`prose ${live.thinking ? 'thinking' : ''}`}
          draw={live.thinking ? undefined : howDrawn()}
        />
      )}
      {live.calls.length > 0 && (
        <div class="calls">
          {live.calls.map((call) => (
            <div class="call" key={call.key}>
              <div class="call-head">
                <i class="square pulse" />
                <span class="call-name theirs mono">
                  {theirs(call.name)} <span class="muted">{theirs(call.about)}</span>
                </span>
                <span class="call-facts">{duration(call.ms + Math.max(0, at - live.at))}</span>
              </div>
              {call.tail !== '' && (
                <pre class="block tail" dir="auto">
                  {theirs(call.tail)}
                </pre>
              )}
            </div>
          ))}
        </div>
      )}
    </article>
  );
}

function doingOf({ question, task, thinking, text }: LiveNow): string {
  if (question !== null && question.task === task) return 'waits for you';
  return thinking && text !== '' ? 'thinking' : 'running';
}

/** The clock of this page, twice a second while it is needed. */
export function useNow(isNeeded: boolean): number {
  const [at, setAt] = useState(now);
  useEffect(() => {
    if (!isNeeded) return undefined;
    const timer = setInterval(() => setAt(now()), 500);
    return () => clearInterval(timer);
  }, [isNeeded]);
  return at;
}
