/** Reads sizes and durations as people write them. */

const byteUnits = { Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 } as const;
const durationUnits = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** A whole number with `Ki`, `Mi` or `Gi`. */
export const sizeShape: RegExp = /^(\d{1,15})(Ki|Mi|Gi)$/;
/** A number with `s`, `m` or `h`. */
export const durationShape: RegExp = /^(\d+(?:\.\d{1,6})?)(s|m|h)$/;
/** The same, or one with `d`, for what is counted in days. */
export const ageShape: RegExp = /^(\d+(?:\.\d{1,6})?)(s|m|h|d)$/;

/** The longest wait that a timer can hold, in milliseconds: a longer one would fire at once. */
export const maxTimerMs: number = 2 ** 31 - 1;
/** The same in whole seconds. */
export const maxWaitSecs = 2_147_483;

/** The bytes that a `sizeShape` stands for, without bounds; null for any other text. */
export function bytesOf(text: string): number | null {
  const [, amount, unit] = sizeShape.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * byteUnits[unit as keyof typeof byteUnits];
}

/** The seconds that a `durationShape` stands for, without bounds; null for any other text. */
export function secondsOf(text: string): number | null {
  return durationShape.test(text) ? ageOf(text) : null;
}

/** The seconds that an `ageShape` stands for, without bounds; null for any other text. */
export function ageOf(text: string): number | null {
  const [, amount, unit] = ageShape.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * durationUnits[unit as keyof typeof durationUnits];
}

/**
 * Whole milliseconds of seconds, never more than they are. What is written has at most six decimals: rounded to them first, 1.001 s is
 * 1001 ms, whatever floating point makes of it.
 */
export function wholeMs(secs: number): number {
  return Math.floor(Math.round(secs * 1e6) / 1000);
}
