import { tooSlow } from './refusals.ts';

/** The slowest sender that is still listened to: at least so many bytes in every such span of time. */
export interface SlowestPace {
  readonly bytes: number;
  readonly ms: number;
}

/**
 * Passes a body on as long as it comes at that pace, throwing a `408` when it does not. Only time spent waiting for the sender counts, so
 * that a slow disk is not held against it. The time a whole body may take is not bounded.
 */
export async function* pacedBody(body: AsyncIterable<Buffer>, pace: SlowestPace): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]();
  let bytes = 0;
  let waitedMs = 0;
  let isAsked = false;
  try {
    for (;;) {
      const startedMs = performance.now();
      isAsked = true;
      const next = await nextWithin(chunks, Math.max(0, pace.ms - waitedMs));
      isAsked = next === null;
      waitedMs += performance.now() - startedMs;
      if (next !== null && next.done === true) return;
      bytes += next?.value.length ?? 0;
      if (bytes >= pace.bytes) {
        bytes = 0;
        waitedMs = 0;
      } else if (next === null || waitedMs >= pace.ms) {
        throw tooSlow(`Less than ${pace.bytes} bytes came within ${pace.ms / 1000} seconds.`);
      }
      if (next !== null) yield next.value;
    }
  } finally {
    // Whoever stops reading leaves the rest to the server. A source that still waits for its sender cannot be told before that has gone.
    if (!isAsked) await chunks.return?.();
  }
}

/** The next chunk; null when it has not come in time. It is not waited for then: only the end of the connection would end that. */
async function nextWithin(chunks: AsyncIterator<Buffer>, ms: number): Promise<IteratorResult<Buffer> | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  const next = chunks.next();
  // Its failure after the time is told to nobody.
  next.catch(() => {});
  try {
    return await Promise.race([next, late]);
  } finally {
    clearTimeout(timer);
  }
}
