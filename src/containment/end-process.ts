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
