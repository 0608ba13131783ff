import type { HeldLimit } from '@svc/artifacts/grants/scope-object.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { Attempt, Promised } from './attempt.ts';
import type { Seen } from './seen.ts';

/** `more`: stopped although nothing was promised. */
export type Judgement = 'as promised' | 'more' | 'not as promised';

/** What a class promises of an attempt where these limits are held; null where the attempt means nothing. */
export function promisedOf(attempt: Attempt, wanted: ContainmentClass, limits: readonly HeldLimit[]): Promised | null {
  const promised = attempt.promises[wanted];
  if (attempt.limit === undefined || promised === null) return promised;
  const isHeld = limits.some(({ resource, held_by: by }) => resource === attempt.limit && by !== 'none');
  return isHeld ? promised : 'open';
}

/** Holds what was seen to what was promised. What is unclear keeps no promise, not even none. */
export function judge(promised: Promised, { kind }: Seen): Judgement {
  if (kind === 'unclear') return 'not as promised';
  switch (promised) {
    case 'stopped':
      return kind === 'allowed' ? 'not as promised' : 'as promised';
    case 'killed':
      return kind === 'killed' ? 'as promised' : 'not as promised';
    case 'works':
      return kind === 'allowed' ? 'as promised' : 'not as promised';
    case 'open':
      return kind === 'allowed' ? 'as promised' : 'more';
  }
}
