/** Compares the wanted containment class with the one that this machine supports. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { type ContainmentClass, containmentClasses, isAtLeast, strongest } from '@svc/protocol/containment-class.ts';

/** Where a floor can be declared; absent where it is not (D1 "Command line" 1). */
interface DeclaredFloors {
  readonly manifest?: ContainmentClass | undefined;
  readonly workspace?: ContainmentClass | undefined;
  readonly flag?: ContainmentClass | undefined;
}

/** The class contained processes get on this host, and why it is not a stronger one. */
interface HostContainment {
  readonly achieved: ContainmentClass;
  /** D1 "Mechanism values". */
  readonly mechanism: string;
  /** A clause for a person, `no kernel sandbox is in use`. */
  readonly reason: string;
}

/** The effective floor: the strongest declared, so that a flag raises and never lowers it (D1 "Command line" 1). */
export function effectiveFloor(floors: DeclaredFloors): ContainmentClass {
  return strongest([floors.manifest, floors.workspace, floors.flag]);
}

/** `E-CAP-003` when the host stays below the floor, null when it meets it (D1 "Command line" 2, "Errors"). */
export function floorRefusal(floor: ContainmentClass, host: HostContainment): Diagnostic | null {
  if (isAtLeast(host.achieved, floor)) return null;
  return new Diagnostic(
    'E-CAP-003',
    `the containment floor cannot be met: declared ${floor}, achieved ${host.achieved} (${host.reason})`,
    { hint: `lower the floor to ${host.achieved}, or run on a host that achieves ${floor}` },
  );
}

/**
 * The strongest class that `SVC_CONTAINMENT_CEILING` allows; all when it is not set.
 * It refuses a value that is not a class, because the operator who set it meant to limit something.
 */
export function parseCeiling(value: string | undefined): ContainmentClass {
  if (value === undefined || value === '') return 'sealed';
  const ceiling = containmentClasses.find((candidate) => candidate === value);
  if (ceiling !== undefined) return ceiling;
  throw new Diagnostic(
    'E-CAP-004',
    `SVC_CONTAINMENT_CEILING is ${JSON.stringify(value)}, which is no containment class`,
    {
      hint: `set it to one of ${containmentClasses.join(', ')}, or unset it`,
    },
  );
}

/** The class that is used on a host that could give `achievable`, under an operator's ceiling. */
export function underCeiling(achievable: ContainmentClass, ceiling: ContainmentClass): ContainmentClass {
  return isAtLeast(achievable, ceiling) ? ceiling : achievable;
}
