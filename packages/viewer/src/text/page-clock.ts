/** The clock of the page and of its worker, which is the same for both and never goes backwards. */

/** Milliseconds since a moment that stays the same while the page is open. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
