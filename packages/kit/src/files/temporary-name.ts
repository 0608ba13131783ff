/** Names for files that exist only for a moment. */

import { systemClock } from '../system-clock.ts';

/** With which each of these names begins. */
export const temporaryPrefix = '.svc-tmp-';

/** A name that no other writer uses, for a file or directory that takes its real name once it is whole, or has lost it. */
export function temporaryName(prefix: string = temporaryPrefix): string {
  return `${prefix}${Buffer.from(systemClock.randomBytes(9)).toString('base64url')}`;
}

export function isTemporaryName(name: string): boolean {
  return name.startsWith(temporaryPrefix);
}
