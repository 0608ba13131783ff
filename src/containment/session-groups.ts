import type { ControlGroup, GroupMaker, GroupPlaceLookup } from './control-group.ts';

/** Beside the program of a launch, the two processes that watch over it. */
const supervisors = 2;

/** The control groups of a session's launches: one for each set of grants, where the host lets this process make any. */
export class SessionGroups {
  readonly #groups: ControlGroup[] = [];
  #place: GroupMaker | null | undefined;

  /** A group that bounds the processes of all launches in it together; null where there is none to be had. */
  make(processes: number, find: () => GroupPlaceLookup): ControlGroup | null {
    if (this.#place === undefined) this.#place = placeOf(find());
    const group = this.#place?.make({ 'pids.max': `${processes + supervisors}` }) ?? null;
    if (group !== null) this.#groups.push(group);
    return group;
  }

  /** Ends what is left in the groups. */
  async close(): Promise<void> {
    await Promise.all(this.#groups.splice(0).map((group) => group.close()));
    this.#place?.leave();
    this.#place = null;
  }
}

function placeOf(found: GroupPlaceLookup): GroupMaker | null {
  return found.kind === 'found' ? found.place : null;
}
