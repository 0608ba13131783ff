/** Says by the interfaces of a component what it is for, and what of its surroundings it can ask for. */

import type { ExternNames } from './compiler/interface-names.ts';
import { withoutVersion } from './interface-versions.ts';

/** The world of `packages/guest/wit/worlds.wit` that a component was written for, by what it exports. */
const worlds: Readonly<Record<string, string>> = {
  'svc:tool/run': 'tool',
  'svc:driver/inference': 'driver',
  'svc:hook/lifecycle': 'hook',
};

/** What a component can ask for. The first three are sections of `capabilities`; the session answers the others. */
export type Asked = 'filesystem' | 'network' | 'env' | 'task' | 'model';

const askedBy: Readonly<Record<string, Asked>> = {
  'wasi:filesystem/types': 'filesystem',
  'wasi:filesystem/preopens': 'filesystem',
  'wasi:http/outgoing-handler': 'network',
  'wasi:cli/environment': 'env',
  'svc:task/task': 'task',
  'svc:runtime/inference': 'model',
};

const order: readonly Asked[] = ['filesystem', 'network', 'env', 'task', 'model'];

/** The world by its exports; null for a component of another kind. */
export function worldOf({ exports }: ExternNames): string | null {
  for (const name of exports) {
    const unversioned = withoutVersion(name);
    if (Object.hasOwn(worlds, unversioned)) return worlds[unversioned] ?? null;
  }
  return null;
}

/** The interface that a component of a runtime lacks, by which svc calls it; null where it has it, and for other runtimes. */
export function lackedBy({ exports }: ExternNames, runtime: string): string | null {
  const [wanted = null] = Object.entries(worlds).find(([, world]) => world === runtime) ?? [];
  return wanted === null || exports.some((name) => withoutVersion(name) === wanted) ? null : wanted;
}

/** What its imports can reach, each once. An import is no sign that it is used: engines of guests import more than a guest needs. */
export function askedFor({ imports }: ExternNames): readonly Asked[] {
  const asked = new Set(imports.map((name) => askedBy[withoutVersion(name)]));
  return order.filter((each) => asked.has(each));
}
