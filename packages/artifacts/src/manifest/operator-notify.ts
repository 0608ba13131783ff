/** Reads `notify` of `~/.svc/config.yaml`: the program that hears of sessions (docs/boundary.md "Notifications"). */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { readDocument } from './checked-document.ts';

const word = z.string().check(
  z.maxLength(4096),
  z.refine((text) => printable(text) === text, 'must be printable'),
  z.refine((text) => !text.includes('${'), 'must be without ${VARIABLE}: every user of the machine sees the words'),
);

const fileSchema = z.looseObject({
  notify: z.optional(
    z.strictObject({
      command: z.array(word).check(
        z.minLength(1),
        z.maxLength(64),
        z.refine(
          ([name = '']) => /^(?:\/.*[^/]|[^/]+)$/.test(name),
          'must begin with a name on PATH or an absolute path',
        ),
      ),
    }),
  ),
});

/**
 * The words of `notify.command`; null where the file has no `notify`. Throws a `DiagnosticList` for a block that is not valid, and `E-MAN-003` where
 * others than this user and root may write to the file or its folder, since they could have anything run.
 */
export function notifyCommand(file: string, text: string, user: number | undefined): readonly string[] | null {
  const { value } = readDocument({
    file,
    text,
    schema: fileSchema,
    env: {},
    leave: () => true,
    isStrict: ([block]) => block === 'notify',
  });
  if (value.notify === undefined) return null;
  const open = [file, dirname(file)].find((path) => othersWrite(path, user));
  if (open === undefined) return value.notify.command;
  throw new Diagnostic('E-MAN-003', `${file} has notify.command, and other users may write to ${open}`, {
    hint: `make it yours alone: chmod go-w ${open}`,
  });
}

function othersWrite(path: string, user: number | undefined): boolean {
  const { uid, mode } = statSync(path);
  return (mode & 0o022) !== 0 || (uid !== 0 && uid !== user);
}
