/** Knows which parts of svc this build leaves out: those that `npm run build -- --without` named. */

import { Diagnostic } from './diagnostic.ts';

// The build puts the names in the place of `import.meta.leftOut`; unbuilt sources leave nothing out.
const leftOut: readonly string[] = (import.meta as { readonly leftOut?: string }).leftOut?.split(',') ?? [];

export function isLeftOut(part: string): boolean {
  return leftOut.includes(part);
}

/** Throws `E-RUN-190` when this build leaves the part out. */
export function demandPart(part: string): void {
  if (isLeftOut(part)) throw leftOutFault(part);
}

/** Refuses a manifest, an option or a variable that asks for a left-out part. */
export function leftOutFault(part: string): Diagnostic {
  return new Diagnostic('E-RUN-190', `this build of svc leaves out its part ${part}`, {
    hint: `install svc as it is published, or build it with ${part} not named behind --without`,
  });
}
