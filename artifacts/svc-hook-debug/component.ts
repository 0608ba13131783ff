/** The hook that logs every event of a session as a component. */

import { observer, type Lifecycle } from '@svc/guest/hook.ts';
import { log } from '@svc/guest/log.ts';
import { eventLine } from './event-line.ts';

/** `svc:hook/lifecycle` */
export const lifecycle: Lifecycle = {
  onStage: told('on-stage', observer.onStage),
  onSessionStart: (session) => log(eventLine('on-session-start', { session })),
  onTaskStart: told('on-task-start', observer.onTaskStart),
  onInference: told('on-inference', observer.onInference),
  onToolCall: told('on-tool-call', observer.onToolCall),
  onShell: told('on-shell', observer.onShell),
  onCompaction: told('on-compaction', observer.onCompaction),
  onTaskEnd: told('on-task-end', observer.onTaskEnd),
  onSessionEnd: told('on-session-end', observer.onSessionEnd),
};

function told<Event extends object, Outcome>(
  name: string,
  observe: (event: Event) => Outcome,
): (event: Event) => Outcome {
  return (event) => {
    log(eventLine(name, event));
    return observe(event);
  };
}
