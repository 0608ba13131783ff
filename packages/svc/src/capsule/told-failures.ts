import type { Trace } from '../trace/trace.ts';

export interface FailureTelling {
  /** Takes secrets out of a text, as the trace does. */
  readonly redact: (text: string) => string;
  /** Told why a task failed, in the words of its `task_end`, before the task's last frame. */
  readonly tell: (reason: string) => void;
}

/** A trace that tells of each task that failed, once its end is recorded: an operator reads the same words in both places. */
export function tellingFailures(trace: Trace, { redact, tell }: FailureTelling): Trace {
  return {
    write(event, parent, prepared) {
      const id = trace.write(event, parent, prepared);
      if (event.event_type === 'task_end' && event.state === 'failed') tell(redact(event.error ?? event.message));
      return id;
    },
    prepare: (text) => trace.prepare(text),
    close: () => trace.close(),
  };
}
