/** How much of a session is recorded beside its trace. */

/** Nothing; hashes and sizes, by which two sessions can be compared; or every text, so that a session can be run again. */
export const captureLevels = ['none', 'meta', 'content'] as const;

export type CaptureLevel = (typeof captureLevels)[number];

/** For a capsule that does not say. */
export const usualCapture: CaptureLevel = 'content';

/** The lower of two levels. */
export function lowerCapture(one: CaptureLevel, other: CaptureLevel): CaptureLevel {
  return captureLevels.indexOf(one) < captureLevels.indexOf(other) ? one : other;
}
