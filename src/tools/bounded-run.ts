import { createContext, Script, type Context } from 'node:vm';

interface Stage {
  readonly script: Script;
  readonly context: Context;
}

/** Made at the first run: a start has nothing to bound. */
let stage: Stage | undefined;

export type BoundedRun<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'out-of-time' };

/** Runs synchronous work of ours on data of others, a regular expression say, and breaks it off after `timeoutMs`. */
export function runBounded<T>(timeoutMs: number, work: () => T): BoundedRun<T> {
  stage ??= { script: new Script('run()'), context: createContext({}) };
  const { script, context } = stage;
  context.run = work;
  try {
    return { kind: 'done', value: script.runInContext(context, { timeout: timeoutMs }) as T };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return { kind: 'out-of-time' };
  } finally {
    context.run = undefined;
  }
}
