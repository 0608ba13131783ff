/** Finds the open files that a child process would inherit by accident. */

import { readdirSync, readFileSync } from 'node:fs';

import { errorCode } from '../diagnostics/system-reason.ts';

const closeOnExec = 0o2000000;

/**
 * Descriptors above 2 that a child of this process would get although nobody handed them to it: those this process itself
 * was started with. Node marks the ones it opens close-on-exec. Empty where the system does not show its descriptors.
 */
export function inheritedDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInheritable(descriptor));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch (error) {
    // The descriptor of the directory listing itself is gone by now.
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
