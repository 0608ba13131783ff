/** Says what to do where a program of this machine does not work in a capsule. */

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';

interface FailedTrial {
  readonly trial: { readonly name: string };
  readonly end: {
    /** Why it could not be started, was ended, or ran short; null where nothing of the kind was seen. */
    readonly stopped: string | null;
    readonly said: string;
    readonly problems: readonly string[];
  };
  readonly achieved: ContainmentClass;
  /** Whether a path is there and is kept from it. */
  readonly isHidden: (path: string) => boolean;
}

/** A path as programs name one in a message, without the marks around it. */
const namedPath = /(?<![\w./~-])\/[\w+@-][\w.+@-]*(?:\/[\w.+@-]+)+/g;
const maxPaths = 50;

/** One sentence: the first that something was found for, the most certain first. */
export function nextStep({ trial: { name }, end, achieved, isHidden }: FailedTrial): string {
  const { stopped, said, problems } = end;
  if (stopped !== null) return `${stopped}: try again when this machine does little else`;
  const named = said.match(namedPath) ?? [];
  const hidden = named.slice(-maxPaths).findLast((path) => !/^\/(?:proc|sys|dev)\//.test(path) && isHidden(path));
  if (hidden !== undefined) {
    return `it names ${hidden}, which it may not see: list that, or the folder of ${name} around it, in capabilities.filesystem.host_read`;
  }
  const [problem] = problems;
  if (problem !== undefined) return problem;
  if (achieved === 'scoped' && /\bpermission denied\b/i.test(said)) {
    return `where ${name} on PATH is a proxy, as those of rustup and pyenv are, only sealed can put the program in its place: name the folder of the program itself first on PATH`;
  }
  return `svc run --explain-scope lists what it may open; report what svc doctor --programs --json says of ${name}`;
}
