/** Turns signals into a clean stop of a command or a session, and ends a session that does not stop in time. */

import { constants } from 'node:os';
import { killLiveGroups } from '@svc/sandbox/child-group.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';

interface StopSignals {
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
  /** Asks for the clean stop that a first signal asks for. */
  request(): void;
  dispose(): void;
}

/** The signals that stop a command; SIGHUP is what a terminal sends when it is closed. */
const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A session that was asked to stop ends within this time, or is ended (docs/cli.md "svc run"). A parent may give its child less. */
export const usualEndMs = 18_000;

/** A terminal and npm both send one, and some supervisors repeat it: signals within this time of the first are the same stop (docs/cli.md "svc run"). */
const sameStopMs = 500;

/** The first signal asks for a clean stop; one that comes more than 500 ms later ends the process at once. The callback writes rows about it. */
export function stopOnSignals(
  context: CommandContext,
  endWithinMs: number = usualEndMs,
  tell: (rows: Shown) => void = (rows) => context.stderr.write(rows),
): StopSignals {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;

  function request(): void {
    if (controller.signal.aborted) return;
    deadline = setTimeout(() => {
      tell(say`svc: the session did not end in time\n`);
      process.exit(1);
    }, endWithinMs);
    deadline.unref();
    controller.abort();
  }

  // However the process ends, what the agent started ends with it.
  process.on('exit', killLiveGroups);
  const stopListening = onFirstSignal(() => {
    if (context.stderr.isTerminal) tell(say`\nstopping; once more to end at once\n`);
    request();
  });
  return {
    signal: controller.signal,
    request,
    dispose: () => {
      clearTimeout(deadline);
      process.off('exit', killLiveGroups);
      stopListening();
    },
  };
}

/**
 * Runs work that cleans up behind itself when it is interrupted: the first signal aborts it, one that comes later than the same stop does (500 ms) ends the process at once. Interrupted,
 * it says so and sets the exit code that a signal has; the failure it ended with is its own doing then.
 */
export async function interruptible(
  context: CommandContext,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  let code: number | null = null;
  const stopListening = onFirstSignal((signal) => {
    code = exitCodeOf(signal);
    controller.abort();
  });
  try {
    await work(controller.signal);
  } catch (error) {
    if (code === null || !(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
    context.stderr.write(say`interrupted\n`);
    process.exitCode = code;
  } finally {
    stopListening();
  }
}

/** Acts on the first signal. A signal that comes too late to be the same stop ends the process at once. The returned function stops listening. */
function onFirstSignal(act: (signal: NodeJS.Signals) => void): () => void {
  let firstMs: number | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now();
    if (firstMs !== null && nowMs - firstMs > sameStopMs) process.exit(exitCodeOf(signal));
    if (firstMs !== null) return;
    firstMs = nowMs;
    act(signal);
  };
  for (const signal of stopping) process.on(signal, onSignal);
  return () => {
    for (const signal of stopping) process.off(signal, onSignal);
  };
}

function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
