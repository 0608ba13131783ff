/** The sizes and durations of manifests and settings. */

import * as z from 'zod/mini';

import { ageOf, ageShape, bytesOf, durationShape, maxWaitSecs, secondsOf, sizeShape } from '@svc/kit/units.ts';

const sizeClause = 'must be whole bytes or a whole number with Ki, Mi or Gi';
const durationClause = 'must be whole seconds or a number with s, m or h';
const ageClause = 'must be whole seconds or a number with s, m, h or d';

const writtenSize = z.union(
  [z.int().check(z.minimum(1)), z.string().check(z.regex(sizeShape, sizeClause))],
  sizeClause,
);
const writtenDuration = z.union(
  [z.int().check(z.minimum(1)), z.string().check(z.regex(durationShape, durationClause))],
  durationClause,
);

const writtenAge = z.union([z.int().check(z.minimum(1)), z.string().check(z.regex(ageShape, ageClause))], ageClause);

const isSomeTime = z.refine<number>((secs) => secs > 0, 'must be longer than nothing');

/** Bytes, from whole bytes or a number with `Ki`, `Mi` or `Gi` (docs/manifest.md "Keys"). */
export const byteSize: z.ZodMiniType<number, string | number> = z.pipe(
  writtenSize,
  z.pipe(
    z.transform(toBytes),
    z.number().check(z.refine((bytes) => bytes >= 1 && Number.isSafeInteger(bytes), sizeClause)),
  ),
);

/** Seconds, from whole seconds or a number with `s`, `m` or `h`; at most 24 days (docs/manifest.md "Keys"). */
export const durationSecs: z.ZodMiniType<number, string | number> = z.pipe(
  writtenDuration,
  z.pipe(
    z.transform(toSecs),
    z.number().check(
      isSomeTime,
      z.refine((secs) => secs <= maxWaitSecs, 'must be at most 596h'),
    ),
  ),
);

/** Some 3,000 years: what is longer lasts as long as this, and its end is still a date. */
export const maxLifetimeSecs = 1e11;

/** Seconds, as `durationSecs`, of something that no timer waits for: as long as one likes (D3 "Limits"). */
export const lifetimeSecs: z.ZodMiniType<number, string | number> = z.pipe(
  writtenDuration,
  z.pipe(
    z.transform((value: string | number) => Math.min(toSecs(value), maxLifetimeSecs)),
    z.number().check(isSomeTime),
  ),
);

/** Seconds, from whole seconds or a number with `s`, `m`, `h` or `d`: how old something may get (docs/manifest.md "Keys"). */
export const ageSecs: z.ZodMiniType<number, string | number> = z.pipe(
  writtenAge,
  z.pipe(
    z.transform((value: string | number) => Math.min(toAge(value), maxLifetimeSecs)),
    z.number().check(isSomeTime),
  ),
);

function toBytes(value: string | number): number {
  return typeof value === 'number' ? value : (bytesOf(value) ?? 0);
}

function toSecs(value: string | number): number {
  return typeof value === 'number' ? value : (secondsOf(value) ?? 0);
}

function toAge(value: string | number): number {
  return typeof value === 'number' ? value : (ageOf(value) ?? 0);
}
