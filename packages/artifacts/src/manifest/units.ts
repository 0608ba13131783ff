import * as z from 'zod/mini';

const byteUnits = { Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 } as const;
const durationUnits = { s: 1, m: 60, h: 3600 } as const;

const sizeShape = /^(\d{1,15})(Ki|Mi|Gi)$/;
const durationShape = /^(\d+(?:\.\d{1,6})?)(s|m|h)$/;

/** The longest wait a timer can hold, 2^31 - 1 milliseconds, in whole seconds. */
export const longestWaitSecs = 2_147_483;

const sizeClause = 'must be whole bytes or a whole number with Ki, Mi or Gi';
const durationClause = 'must be whole seconds or a number with s, m or h';

const writtenSize = z.union(
  [z.int().check(z.minimum(1)), z.string().check(z.regex(sizeShape, sizeClause))],
  sizeClause,
);
const writtenDuration = z.union(
  [z.int().check(z.minimum(1)), z.string().check(z.regex(durationShape, durationClause))],
  durationClause,
);

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
      z.refine((secs) => secs <= longestWaitSecs, 'must be at most 596h'),
    ),
  ),
);

/** Some 3,000 years: what is longer lasts as long as this, and its end is still a date. */
export const longestLifetimeSecs = 1e11;

/** Seconds, as `durationSecs`, of something that no timer waits for: as long as one likes (D3 "Limits"). */
export const lifetimeSecs: z.ZodMiniType<number, string | number> = z.pipe(
  writtenDuration,
  z.pipe(
    z.transform((value: string | number) => Math.min(toSecs(value), longestLifetimeSecs)),
    z.number().check(isSomeTime),
  ),
);

/**
 * Whole milliseconds of seconds, never more than they are. What is written has at most six decimals: rounded to them first, 1.001 s is
 * 1001 ms, whatever floating point makes of it.
 */
export function wholeMs(secs: number): number {
  return Math.floor(Math.round(secs * 1e6) / 1000);
}

function toBytes(value: string | number): number {
  if (typeof value === 'number') return value;
  const [, amount = '0', unit = 'Ki'] = sizeShape.exec(value) ?? [];
  return Number(amount) * byteUnits[unit as keyof typeof byteUnits];
}

function toSecs(value: string | number): number {
  if (typeof value === 'number') return value;
  const [, amount = '0', unit = 's'] = durationShape.exec(value) ?? [];
  return Number(amount) * durationUnits[unit as keyof typeof durationUnits];
}
