/** Names the files of a project that no agent is shown: secrets of its programs, keys, and what `svc` keeps. */

/**
 * Whether an entry of this name is masked in a folder that an agent is given as its project, with everything below it: `.env` and whatever
 * begins so, in any case, `.ssh` and `.svc`.
 */
export function isMaskedName(name: string): boolean {
  return /^\.env/i.test(name) || name === '.ssh' || name === '.svc';
}
