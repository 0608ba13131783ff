/** Holds what a host achieves to the floor that is declared. */

import type { ContainmentReport } from '@svc/artifacts/grants/scope-object.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import { floorRefusal, underCeiling } from '@svc/sandbox/floor.ts';

export interface FloorQuestion {
  /** The strongest of all floors. */
  readonly declared: ContainmentClass;
  readonly containment: Containment;
  /** The strongest class that is to be used. */
  readonly ceiling: ContainmentClass;
}

interface FloorAnswer {
  readonly report: ContainmentReport;
  /** `E-CAP-003` when what is achieved stays below what is declared. */
  readonly refusal: Diagnostic | null;
}

/** Holds what the host achieves, under the ceiling, to what is declared (D1 "Command line" 1 and 2). */
export function answerFloor({ declared, containment, ceiling }: FloorQuestion): FloorAnswer {
  const { mechanism, usernsGrant } = containment;
  const achieved = underCeiling(containment.achieved, ceiling);
  const isLowered = achieved !== containment.achieved;
  const reason = isLowered ? `SVC_CONTAINMENT_CEILING is ${ceiling}` : (containment.reason ?? '');
  const refusal = floorRefusal(declared, { achieved, mechanism, reason });
  return { report: { declared, achieved, floorMet: refusal === null, mechanism, usernsGrant }, refusal };
}
