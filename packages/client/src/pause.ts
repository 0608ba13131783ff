import { within } from './http-door.ts';

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
