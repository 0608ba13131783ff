/** Keeps a list of texts of this user in a file of `~/.svc`. */

import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';

import { withGuard } from '@svc/kit/files/file-guard.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { asStrings, parseJsonObject } from '@svc/protocol/json-object.ts';

const fileVersion = 1;
const maxTexts = 1000;
const maxFile = 8 * 1024 * 1024;

/** The newest first; of more than a thousand the oldest are forgotten. */
export class RememberedList {
  readonly #home: string;
  readonly #key: string;

  /** The file is `<key>.json`. */
  constructor(home: string, key: string) {
    this.#home = home;
    this.#key = key;
  }

  get #path(): string {
    return join(this.#home, '.svc', `${this.#key}.json`);
  }

  /** Returns null where nothing was ever remembered, where the file is not what it should be, and where another user may have written it. `E-IO-001` when it cannot be read. */
  read(): readonly string[] | null {
    const text = readOwn(this.#path);
    if (text === null) return null;
    const object = parseJsonObject(text) ?? {};
    return object[`${this.#key}_version`] === fileVersion ? asStrings(object[this.#key]) : null;
  }

  /** Puts it first, and keeps of the others those that `stays` is for. `E-IO-001` when the file cannot be written. */
  async remember(text: string, stays: (other: string) => boolean = () => true): Promise<void> {
    if (this.read()?.includes(text) === true) return;
    await makeDirectory(join(this.#home, '.svc'));
    await withGuard(this.#path, async () => {
      const others = (this.read() ?? []).filter((other) => other !== text && stays(other));
      const kept = { [`${this.#key}_version`]: fileVersion, [this.#key]: [text, ...others].slice(0, maxTexts) };
      await replaceFile(this.#path, [Buffer.from(`${JSON.stringify(kept, null, 2)}\n`)], { mode: 0o600 });
    });
  }
}

function readOwn(path: string): string | null {
  try {
    const descriptor = unlessErrno(['ENOENT'], () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), null);
    return descriptor === null ? null : readAndClose(descriptor);
  } catch (error) {
    throw ioFault(error, `cannot read ${path}`);
  }
}

function readAndClose(descriptor: number): string | null {
  try {
    const status = fstatSync(descriptor);
    const isOwn = status.uid === (process.geteuid?.() ?? status.uid) && (status.mode & 0o022) === 0;
    return isOwn && status.isFile() ? (readFileUpTo(descriptor, maxFile)?.toString('utf8') ?? null) : null;
  } finally {
    closeSync(descriptor);
  }
}
