import { z } from 'zod';

const byteUnits = { Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 } as const;
const durationUnits = { s: 1, m: 60, h: 3600 } as const;

const sizeShape = /^(\d+)(Ki|Mi|Gi)$/;
const durationShape = /^(\d+(?:\.\d+)?)(s|m|h)$/;

/** Bytes, from whole bytes or a number with `Ki`, `Mi` or `Gi` (contracts §3). */
export const byteSize: z.ZodType<number, string | number> = z
  .union([z.int().min(1), z.string().regex(sizeShape, 'must be whole bytes or a number with Ki, Mi or Gi')])
  .transform((value) => {
    if (typeof value === 'number') return value;
    const [, amount = '0', unit = 'Ki'] = sizeShape.exec(value) ?? [];
    return Number(amount) * byteUnits[unit as keyof typeof byteUnits];
  });

/** Seconds, from whole seconds or a number with `s`, `m` or `h` (contracts §3). */
export const durationSecs: z.ZodType<number, string | number> = z
  .union([z.int().min(1), z.string().regex(durationShape, 'must be whole seconds or a number with s, m or h')])
  .transform((value) => {
    if (typeof value === 'number') return value;
    const [, amount = '0', unit = 's'] = durationShape.exec(value) ?? [];
    return Number(amount) * durationUnits[unit as keyof typeof durationUnits];
  });
