import { quoted } from '@svc/kit/diagnostics/printable.ts';

/** Who waits for whom: the id of a step to those it waits for. */
export type WaitGraph = ReadonlyMap<string, readonly string[]>;

const shownOfCycle = 8;

/** Steps that wait for themselves by way of each other, the first one once more at the end; null when there are none. */
export function findCycle(graph: WaitGraph): readonly string[] | null {
  const finished = new Set<string>();
  const path: string[] = [];

  function visit(id: string): readonly string[] | null {
    if (finished.has(id)) return null;
    const start = path.indexOf(id);
    if (start !== -1) return [...path.slice(start), id];
    path.push(id);
    for (const next of graph.get(id) ?? []) {
      const cycle = visit(next);
      if (cycle !== null) return cycle;
    }
    path.pop();
    finished.add(id);
    return null;
  }

  for (const id of graph.keys()) {
    const cycle = visit(id);
    if (cycle !== null) return cycle;
  }
  return null;
}

/** A cycle as a path, the middle of a long one left out. */
export function renderCycle(cycle: readonly string[]): string {
  const names = cycle.map((id) => quoted(id));
  const left = names.length - shownOfCycle;
  const shown = left <= 0 ? names : [...names.slice(0, shownOfCycle - 1), `(${left} more)`, ...names.slice(-1)];
  return shown.join(' → ');
}

/** Every step that has ended when `id` starts. */
export function allBefore(id: string, graph: WaitGraph): ReadonlySet<string> {
  // A set is walked in the order of insertion, so what is added here is visited too.
  const before = new Set(graph.get(id));
  for (const each of before) for (const next of graph.get(each) ?? []) before.add(next);
  return before;
}
