/** Gives long work turns of the event loop of its own, so that others are served in between. */

/** Resolved one in each turn of the event loop, in the order they came. */
const waiting: (() => void)[] = [];

/**
 * Resolves in a turn of the event loop that no other caller gets. What a client can make long is done in steps with one of these between
 * them: however many clients do so at once, everything else has its turn after each step. (All that wait for node's `setImmediate` go on in
 * one and the same turn.)
 */
export function ownTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resolveNext);
  });
}

function resolveNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resolveNext);
}
