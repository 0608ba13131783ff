import type { ContainmentClass } from '../../wire/containment-class.ts';
import type { Attempt, Promised } from './attempt.ts';
import type { Seen } from './seen.ts';

/** `more`: stopped although nothing was promised. */
export type Judgement = 'as promised' | 'more' | 'not as promised';

/** What a class promises of an attempt to this user; null where the attempt means nothing. */
export function promisedOf(attempt: Attempt, wanted: ContainmentClass, isRoot: boolean): Promised | null {
  const promises = isRoot ? (attempt.promisesToRoot ?? attempt.promises) : attempt.promises;
  return promises[wanted];
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
