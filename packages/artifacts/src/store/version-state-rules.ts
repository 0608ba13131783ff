/** Says what the state of a version means for those who install it. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { StateOfVersion } from '@svc/protocol/version-states.ts';
import { type ArtifactRef, spell } from './artifact-ref.ts';

/** How an install or a start takes versions that somebody advises against. */
export interface StateRules {
  /** Takes yanked versions that `svc.lock` does not record. */
  readonly allowsYanked: boolean;
  /** Says when a version is deprecated: an install does, a start does not. */
  readonly tellsDeprecated: boolean;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** For commands that say nothing about it. */
export const strictRules: StateRules = { allowsYanked: false, tellsDeprecated: false, onWarning: () => {} };

interface Judged {
  /** Who says so. */
  readonly by: string;
  /** Whether `svc.lock` records these very bytes. */
  readonly isLocked: boolean;
}

/**
 * What to warn of when a version in this state is taken (`W-REG-004`, `W-REG-005`); null where there is nothing to say. Throws why it is not taken:
 * `E-REG-008` for a yanked one, `E-REG-010` for a blocked one.
 */
export function judgeState(
  ref: ArtifactRef,
  { state, reason }: StateOfVersion,
  { by, isLocked }: Judged,
  { allowsYanked, tellsDeprecated }: Pick<StateRules, 'allowsYanked' | 'tellsDeprecated'>,
): Diagnostic | null {
  const why = reasonClause(reason);
  switch (state) {
    case 'active':
      return null;
    case 'deprecated':
      if (!tellsDeprecated) return null;
      return new Diagnostic('W-REG-004', `${spell(ref)} is deprecated, says ${by}${why}`);
    case 'yanked':
      if (!isLocked && !allowsYanked) throw yanked(ref, by, why);
      return new Diagnostic('W-REG-005', `${spell(ref)} is yanked, says ${by}${why}`, {
        hint: `svc update ${ref.name} moves to another version; --latest does so where its entry has no range`,
      });
    case 'blocked':
      throw blockedFault(ref, { by, reason });
  }
}

function yanked(ref: ArtifactRef, by: string, why: string): Diagnostic {
  return new Diagnostic('E-REG-008', `${spell(ref)} is yanked, says ${by}${why}`, {
    hint: `choose another version: svc info ${ref.name} lists them; to take this one all the same, add --allow-yanked to svc install or svc add`,
  });
}

/** `E-REG-010`. */
export function blockedFault(
  ref: ArtifactRef,
  { by, reason }: { readonly by: string; readonly reason: string | null },
): Diagnostic {
  return new Diagnostic('E-REG-010', `${spell(ref)} is blocked, says ${by}${reasonClause(reason)}`, {
    hint: `choose another version: svc info ${ref.name} lists them`,
  });
}

const maxShown = 300;

function reasonClause(reason: string | null): string {
  return reason === null ? '' : `: ${printable(shortened(reason, maxShown))}`;
}
