/** Reads the long texts of a journal, which have files of their own. */

import { closeSync, fstatSync } from 'node:fs';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { type HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { notOwn, openOwn } from './line-file.ts';
import { bodiesDirectory } from './journal-writer.ts';

/** A text of more bytes is not read. */
const maxBody = 256 * 1024 * 1024;

/** The bytes of a file in `bodies/` of a session, or what is wrong with it. `E-RUN-072` for links, and for files of others than `owner`. */
export function bodyFile(
  session: HeldDirectory,
  { sha256, bytes }: { readonly sha256: string; readonly bytes: number },
  owner: number | null,
): Buffer | string {
  const directory = bodiesOf(session);
  if (directory === null) return 'its file is missing';
  try {
    const fd = openOwn(directory, sha256, owner);
    if (fd === null) return 'its file is missing';
    try {
      if (fstatSync(fd).size !== bytes || bytes > maxBody) return 'its file has another size';
      return readFileUpTo(fd, bytes) ?? 'its file has another size';
    } finally {
      closeSync(fd);
    }
  } finally {
    directory.close();
  }
}

function bodiesOf(session: HeldDirectory): HeldDirectory | null {
  try {
    return session.enter(bodiesDirectory);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw isObstacle(error) ? notOwn(`${bodiesDirectory} is a link or a file`) : error;
  }
}
