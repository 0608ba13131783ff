/** Says which of several rules decides: the strictest. */

import type { Verdict } from '@svc/artifacts/manifest/approvals.ts';

/** What the rules say of a call, and which of them decided: `approvals.rules[1]`, `approvals.default`, `approvals.opaque`. */
export interface Decision {
  readonly verdict: Verdict;
  readonly rule: string;
}

export const strictness: Readonly<Record<Verdict, number>> = { allow: 0, ask: 1, deny: 2 };

export function stricter(one: Decision, other: Decision): Decision {
  return strictness[other.verdict] > strictness[one.verdict] ? other : one;
}
