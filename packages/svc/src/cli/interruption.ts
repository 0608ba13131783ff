/** Lets a command clean up when it is interrupted. */

import { constants } from 'node:os';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from './command-context.ts';
import { sameStopMs, stopping } from './stop-signals.ts';
import { say } from './terminal/shown.ts';

/**
 * Runs work that cleans up behind itself when it is interrupted: the first signal aborts it, one that comes later than the same stop does (500 ms) ends the process at once. Interrupted,
 * it says so and sets the exit code that a signal has; the failure it ended with is its own doing then.
 */
export async function interruptible(
  context: CommandContext,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  let received: NodeJS.Signals | null = null;
  let firstMs = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (received !== null) {
      if (performance.now() - firstMs > sameStopMs) process.exit(128 + constants.signals[signal]);
      return;
    }
    received = signal;
    firstMs = performance.now();
    controller.abort();
  };
  for (const signal of stopping) process.on(signal, onSignal);
  try {
    await work(controller.signal);
  } catch (error) {
    const code = exitCodeOf(received);
    if (code === null || !(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
    context.stderr.write(say`interrupted\n`);
    process.exitCode = code;
  } finally {
    for (const signal of stopping) process.off(signal, onSignal);
  }
}

function exitCodeOf(signal: NodeJS.Signals | null): number | null {
  return signal === null ? null : 128 + constants.signals[signal];
}
