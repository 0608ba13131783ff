/** A path below the accessible workdir in its normal spelling, `.` for all of it. */
export type WorkdirPath = string;

/** True when `inner` is `outer` or beneath it. */
export function isWithin(outer: WorkdirPath, inner: WorkdirPath): boolean {
  return outer === '.' || inner === outer || inner.startsWith(`${outer}/`);
}

/** What lies in both; null when nothing does. */
export function intersection(one: WorkdirPath, other: WorkdirPath): WorkdirPath | null {
  if (isWithin(one, other)) return other;
  return isWithin(other, one) ? one : null;
}
