import { stateRoot, statePath } from '@svc/artifacts/grants/state-paths.ts';
import type { StoreDirectory } from './process-grants.ts';

/**
 * Where a composed root has a state store: where components know it, or, with a workdir there, where the host has it. One of the two
 * would hide the other.
 */
export function storePlace({ name, path }: StoreDirectory, workdir: string): string {
  return `${workdir}/`.startsWith(`${stateRoot}/`) ? path : statePath(name);
}
