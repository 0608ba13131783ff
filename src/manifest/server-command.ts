import * as z from 'zod/mini';

import { commandName } from './names.ts';

const archived = /^bin\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** `command` of an artifact with `implementation: mcp`: the program and its arguments; no shell reads them. */
export const serverCommand = z
  .array(z.string().check(z.maxLength(4096), z.regex(/^[^\0]*$/, 'must not contain a null character')))
  .check(
    z.minLength(1),
    z.maxLength(100),
    z.refine(
      ([program = '']) => archived.test(program) || commandName.safeParse(program).success,
      'must begin with bin/<file>, a program of the archive, or with the bare name of a program of the host',
    ),
  );

/** The file of the archive that such a command starts; null when it starts a program of the host. */
export function serverFile([program = '']: readonly string[]): string | null {
  return archived.test(program) ? program : null;
}
