/** What was seen of an attempt, and whether a promise is broken by it. */

import type { HeldLimit } from '@svc/protocol/held-limit.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { Attempt, Promised } from './attempt.ts';

/** What became of an attempt. */
export interface Seen {
  /** `unclear`: neither an effect nor a refusal was seen, so that nothing is shown. */
  readonly kind: 'allowed' | 'absent' | 'refused' | 'killed' | 'unclear';
  /** The name of an error or signal, or a word of who refused; empty where there is nothing to add. */
  readonly detail: string;
}

export const allowed: Seen = { kind: 'allowed', detail: '' };

/** `refused EACCES`. */
export function formatSeen({ kind, detail }: Seen): string {
  return detail === '' ? kind : `${kind} ${detail}`;
}

/** Reads what `svc-attempts` printed; null for any other line. `tried` means that only its effect shows what came of it. */
export function parseAnswer(line: string): Seen | 'tried' | null {
  if (line === 'tried\n') return 'tried';
  if (line === 'allowed\n') return allowed;
  if (line === 'absent\n') return { kind: 'absent', detail: '' };
  const [, kind, detail = ''] = /^(refused|killed) (\S+)\n$/.exec(line) ?? [];
  return kind === 'refused' || kind === 'killed' ? { kind, detail } : null;
}

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
