import { getStderr } from 'wasi:cli/stderr@0.2.12';

import { observer, type Lifecycle } from '../lib/hook-world.ts';
import { eventLine } from './event-line.ts';

/** `svc:hook/lifecycle` */
export const lifecycle: Lifecycle = {
  onStage: told('on-stage', observer.onStage),
  onSessionStart: (session) => write(eventLine('on-session-start', { session })),
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
    write(eventLine(name, event));
    return observe(event);
  };
}

/** The runtime keeps what a hook writes. One write takes up to a megabyte. */
function write(line: string): void {
  const bytes = new TextEncoder().encode(line);
  using stream = getStderr();
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + Math.max(1, stream.checkWrite()));
    stream.write(bytes.subarray(at, end));
    at = end;
  }
  stream.blockingFlush();
}
