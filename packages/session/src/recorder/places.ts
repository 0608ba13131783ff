/** Numbers the places of a session at which something is asked of its outside, without growing with the tasks that it has had. */

/**
 * Settled tasks whose events hooks may still receive: an async hook has at most 256 events before it (docs/hooks.md "Async hooks"), each of
 * them of another task.
 */
const maxLate = 1024;

/** What hooks ask for after the task has settled: `h-<event>/<hook>` and `completion/<hook>`. */
const ofHooks = /^(?:h-|completion\/)/;

/** The second time that a place is asked for, it has `.2` at its end. */
export class Places {
  /** How often each was asked for, by what stands before its first slash: a task, or the session. */
  readonly #uses = new Map<string, Map<string, number>>();
  /** The one that settled first is the first. */
  readonly #settled = new Set<string>();

  next(place: string): string {
    const slash = place.indexOf('/');
    const [owner, rest] = [place.slice(0, slash), place.slice(slash + 1)];
    const ofOwner = this.#uses.get(owner) ?? new Map<string, number>();
    const uses = (ofOwner.get(rest) ?? 0) + 1;
    ofOwner.set(rest, uses);
    this.#uses.set(owner, ofOwner);
    return uses === 1 ? place : `${place}.${uses}`;
  }

  /** The task has settled, and only hooks may still refer to it. */
  over(taskId: string): void {
    const places = this.#uses.get(taskId);
    for (const place of places?.keys() ?? []) if (!ofHooks.test(place)) places?.delete(place);
    this.#settled.add(taskId);
    const [first] = this.#settled;
    if (this.#settled.size <= maxLate || first === undefined) return;
    this.#settled.delete(first);
    this.#uses.delete(first);
  }

  /** How many are held. */
  get size(): number {
    return [...this.#uses.values()].reduce((sum, places) => sum + places.size, 0);
  }
}
