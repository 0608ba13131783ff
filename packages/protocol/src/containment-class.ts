/** The classes of containment, and which is stronger. */

/** Weakest first (D1 "Mechanism values": `advisory` < `scoped` < `sealed`). */
export const containmentClasses = ['advisory', 'scoped', 'sealed'] as const;

export type ContainmentClass = (typeof containmentClasses)[number];

export function isAtLeast(achieved: ContainmentClass, floor: ContainmentClass): boolean {
  return containmentClasses.indexOf(achieved) >= containmentClasses.indexOf(floor);
}

/** The strongest of the declared floors; `advisory` when nothing declares one (D1 "Command line" 1). */
export function strongest(floors: readonly (ContainmentClass | undefined)[]): ContainmentClass {
  const ranks = floors.map((floor) => (floor === undefined ? 0 : containmentClasses.indexOf(floor)));
  return containmentClasses[Math.max(0, ...ranks)] ?? 'advisory';
}
