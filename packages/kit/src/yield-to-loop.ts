/** Gives long work turns of the event loop of its own, so that others are served in between. */

/** Resolved one in each turn of the event loop, in the order they came. */
const waiting: (() => void)[] = [];

/**
 * Resolves in a turn of the event loop that no other caller gets. What a client can make long is done in steps with one of these between
 * them: however many clients do so at once, everything else has its turn after each step. (All that wait for node's `setImmediate` go on in
 * one and the same turn.)
 */
export function yieldToLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resolveNext);
  });
}

function resolveNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resolveNext);
}

/** Work that stops before each of its long parts, so that its caller may do something else first. */
export type Steps<Value> = Generator<undefined, Value, undefined>;

/** Does it all at once. */
export function runSync<Value>(steps: Steps<Value>): Value {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does each part but the first in a turn of its own. */
export async function runYielding<Value>(steps: Generator<unknown, Value, undefined>): Promise<Value> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await yieldToLoop();
  }
}

/** Going over one of this many characters takes some milliseconds. */
const longText = 1024 * 1024;

/** Whether a text is so long that what is done to it takes turns of its own. */
export function isLong(text: string): boolean {
  return text.length > longText;
}
