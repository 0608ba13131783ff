/** Reads ages such as `2d` of options. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

const minuteMs = 60_000;
const unitMs: Readonly<Record<string, number>> = {
  m: minuteMs,
  h: 60 * minuteMs,
  d: 24 * 60 * minuteMs,
  w: 7 * 24 * 60 * minuteMs,
};

/** Milliseconds of `30m`, `12h`, `2d` or `1w`; `E-RUN-090` for anything else. `option` names the option in the message. */
export function ageOf(option: string, text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  const ms = unitMs[unit];
  if (ms !== undefined) return Number(count) * ms;
  throw new Diagnostic('E-RUN-090', `\`${option}\` must be an age such as 2d, not \`${text}\``, {
    hint: 'a number and m, h, d or w: 30m, 12h, 2d, 1w',
  });
}
