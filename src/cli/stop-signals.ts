import type { CommandContext } from './command-context.ts';

export interface StopSignals {
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  dispose(): void;
}

/** A session that was asked to stop ends within this time, or is ended (contracts §2: within 20 s). */
const longestEndMs = 18_000;

/** The first signal asks for a clean stop, the second ends the process at once. */
export function stopOnSignals(context: CommandContext): StopSignals {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;

  function onSignal(signal: NodeJS.Signals): void {
    if (controller.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143);
    if (context.stderrIsTerminal) context.stderr.write('\nstopping; once more to end at once\n');
    deadline = setTimeout(() => {
      context.stderr.write('svc: the session did not end in time\n');
      process.exit(1);
    }, longestEndMs);
    deadline.unref();
    controller.abort();
  }

  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    dispose: () => {
      clearTimeout(deadline);
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
