/** Makes the view of a chat. */

import { systemClock } from '@svc/kit/system-clock.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { usesColor } from '@svc/terminal/screen/render-failure.ts';
import { logsCommandOf } from '../shown/cut-output.ts';
import { SessionView } from '../shown/session-view.ts';

interface ChatViewParts {
  /** By which hints name the session. */
  readonly session: string;
  /** The number of the last result, under which `/show` prints it. */
  readonly resultCount: () => number;
  /** Whether the logs of the session are on this machine. */
  readonly hasLogs: () => boolean;
  /** How full the context of the model is; null where nobody knows. */
  readonly contextPercent: () => number | null;
}

export function chatView(
  context: CommandContext,
  { session, resultCount, hasLogs, contextPercent }: ChatViewParts,
): SessionView {
  return new SessionView(context.stdout, {
    useColor: usesColor(context),
    nowMs: () => systemClock.monotonicMs(),
    keysHint: () => 'Esc cancels',
    answerHint: () => '',
    wholeOutput: () => `/show ${resultCount()}`,
    contextPercent,
    keptOutput: (result) => (hasLogs() ? logsCommandOf(session, result) : null),
  });
}
