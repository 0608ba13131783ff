/** Writes work that waits once for both worlds: a component, which blocks, and a process, which does not. */

/** Work that waits for others on its way: it gives an operation to carry out, and goes on with what that comes to. */
export type Steps<T> = Generator<() => unknown, T, unknown>;

/** Waits for what an operation comes to; its error is thrown here. */
export function* waitFor<T>(operation: () => T | Promise<T>): Steps<T> {
  return (yield operation) as T;
}

/** Carries out work whose operations all block. */
export function runBlocking<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    let value: unknown;
    try {
      value = step.value();
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}

/** Carries out work whose operations may come to promises. */
export async function runWaiting<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    let value: unknown;
    try {
      value = step.value();
      // What is there already needs no turn of the event loop.
      if (value instanceof Promise) value = await value;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}
