/** Ends a launched process, kindly first. */

import type { LaunchedProcess } from './launcher.ts';

/** Asks the whole group to end, and ends it after `graceMs`. Settles when it is over. */
export async function endProcess(launched: LaunchedProcess, graceMs: number): Promise<void> {
  launched.kill('SIGTERM');
  const force = setTimeout(() => {
    launched.kill('SIGKILL');
  }, graceMs);
  await launched.ended;
  clearTimeout(force);
}

/** Ends the process as soon as the signal is aborted, now if it is already. The returned function stops listening. */
export function endOnAbort(launched: LaunchedProcess, signal: AbortSignal, graceMs: number): () => void {
  const end = (): void => {
    void endProcess(launched, graceMs);
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  return () => {
    signal.removeEventListener('abort', end);
  };
}
