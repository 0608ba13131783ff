/** Codes of the commands that look back on sessions and talk to them. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** A part of the catalogue. */
export const sessionCodes = {
  'E-RUN-090': {
    title: 'a length of time cannot be read',
    explanation:
      'Ages are a whole number and a unit without a blank between them: m for minutes, h for hours, d for days, w for weeks.',
  },
  'E-RUN-091': {
    title: 'a name fits several sessions',
    explanation:
      'The last characters that were given are those of more than one session; the message lists them. Nothing was done, and the exit code is 2. Give more characters, or the whole id.',
  },
} as const satisfies Record<string, CatalogueEntry>;
