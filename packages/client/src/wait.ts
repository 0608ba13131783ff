/** Waits that end when a signal is aborted, or when they have lasted too long. */

import { ClientError } from './client-error.ts';

/** The longest delay setTimeout accepts (about 25 days). */
export const maxTimerMs: number = 2 ** 31 - 1;

export interface Wait {
  /** Infinity waits for ever. */
  readonly ms: number;
  readonly signal: AbortSignal | undefined;
}

/** Awaits `promise` for at most `ms`. Rejects with the signal's reason, `timeout` or `unreachable`. */
export async function within<Value>(promise: Promise<Value>, { ms, signal }: Wait): Promise<Value> {
  let stop = (): void => {};
  const cut = new Promise<never>((_, reject) => {
    const late = new ClientError('timeout', `nothing came for ${ms / 1000} s`);
    const timer = ms > maxTimerMs ? undefined : setTimeout(() => reject(late), ms);
    const onAbort = (): void => reject(signal?.reason as Error);
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  });
  try {
    return await Promise.race([promise, cut]);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ClientError) throw error;
    throw new ClientError('unreachable', `no whole answer came: ${reasonOf(error)}`, { cause: error });
  } finally {
    stop();
    promise.catch(() => {});
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Waits. Rejects with the reason of an aborted signal, and leaves no timer behind. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await within(over, { ms: Number.POSITIVE_INFINITY, signal });
  } finally {
    clearTimeout(timer);
  }
}
