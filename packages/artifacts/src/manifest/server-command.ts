import * as z from 'zod/mini';

import { commandName } from './names.ts';

const archived = /^bin\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const word = z.lazy(() =>
  z.string().check(z.maxLength(4096), z.regex(/^[^\0]*$/, 'must not contain a null character')),
);

const program = z.lazy(() =>
  z
    .string()
    .check(
      z.refine(
        (text) => archived.test(text) || commandName.safeParse(text).success,
        'must be bin/<file>, a program of the archive, or the bare name of a program of the host',
      ),
    ),
);

/** `command` of an artifact with `implementation: mcp`: the program and its arguments; no shell reads them. */
export const serverCommand = z.lazy(() => z.tuple([program], word).check(z.maxLength(100)));

/** The file of the archive that such a command starts; null when it starts a program of the host. */
export function serverFile([first = '']: readonly string[]): string | null {
  return archived.test(first) ? first : null;
}
