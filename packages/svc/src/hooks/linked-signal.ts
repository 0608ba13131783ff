/** Does `work` under a signal that is aborted with the first of `signals`, and once the work is over; holds on to none of them after it. */
export async function underSignals<T>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const linked = new AbortController();
  const abort = (): void => linked.abort();
  for (const signal of signals) signal.addEventListener('abort', abort, { once: true });
  if (signals.some((signal) => signal.aborted)) abort();
  try {
    return await work(linked.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', abort);
    abort();
  }
}
