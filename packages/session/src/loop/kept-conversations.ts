/** Keeps conversations in files that survive the session. */

import { lstatSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { isTemporaryName } from '@svc/kit/files/temporary-name.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import type { Message } from '../model/driver.ts';
import {
  type Conversations,
  maxContexts,
  maxConversationBytes,
  refuseTooLong,
  decodeConversation,
  encodeConversation,
  type Redact,
} from './conversations.ts';

interface KeptConversationsOptions {
  /** Exists, and is this session's alone for as long as it lives. */
  readonly directory: string;
  readonly redact: Redact;
}

/**
 * `threaded` conversations as files, so that they survive the session: one file a context, replaced as a whole. A broken file fails
 * `history` with `E-RUN-031`, a conversation that is too long fails `save` with `E-RUN-032`; `E-IO-001` where the file system refuses.
 */
export class KeptConversations implements Conversations {
  readonly isKept = true;
  readonly #options: KeptConversationsOptions;
  /** Names of files, that saved longest ago first. */
  readonly #names: Set<string>;

  /** Removes what a killed session left half-written. */
  constructor(options: KeptConversationsOptions) {
    this.#options = options;
    this.#names = new Set(namesIn(options.directory));
  }

  has(context: ContextId): boolean {
    return this.#names.has(fileName(context));
  }

  history(context: ContextId): readonly Message[] {
    const path = this.#path(fileName(context));
    const text = readText(path);
    if (text === null) return [];
    const decoded = decodeConversation(text, context, this.#options.redact);
    if (decoded.kind === 'broken') throw unreadable(path, decoded.reason);
    return decoded.messages;
  }

  save(context: ContextId, messages: readonly Message[]): void {
    const name = fileName(context);
    if (messages.length === 0) return this.#remove(name);
    const bytes = Buffer.from(encodeConversation(context, messages, this.#options.redact));
    refuseTooLong(bytes.length);
    const path = this.#path(name);
    try {
      replaceFileSync(path, bytes, { mode: 0o600 });
    } catch (error) {
      throw ioFault(error, `the conversation ${path} cannot be kept`);
    }
    this.#names.delete(name);
    this.#names.add(name);
    const [oldest] = this.#names;
    if (this.#names.size > maxContexts && oldest !== undefined) this.#remove(oldest);
  }

  #remove(name: string): void {
    const path = this.#path(name);
    try {
      rmSync(path, { force: true });
    } catch (error) {
      throw ioFault(error, `the conversation ${path} cannot be removed`);
    }
    this.#names.delete(name);
  }

  #path(name: string): string {
    return join(this.#options.directory, name);
  }
}

/** The sender of a message chooses the id of its context, so the id itself never becomes a path. */
function fileName(context: ContextId): string {
  return `${sha256Hex(JSON.stringify(context))}.json`;
}

const nameShape = /^[0-9a-f]{64}\.json$/;

function namesIn(directory: string): string[] {
  try {
    const names = readdirSync(directory);
    for (const name of names.filter(isTemporaryName)) rmSync(join(directory, name), { force: true });
    return names
      .filter((name) => nameShape.test(name))
      .map((name) => ({ name, savedAt: lstatSync(join(directory, name), { bigint: true }).mtimeNs }))
      .toSorted((a, b) => Number(a.savedAt - b.savedAt))
      .map(({ name }) => name);
  } catch (error) {
    throw ioFault(error, `the conversations in ${directory} cannot be listed`);
  }
}

/** Returns null when there is no such file. */
function readText(path: string): string | null {
  try {
    // Anything else could hold the read for ever.
    if (!statSync(path).isFile()) throw unreadable(path, 'it is not a file');
    const bytes = readFileUpTo(path, maxConversationBytes);
    if (bytes === undefined) throw unreadable(path, `it holds more than ${maxConversationBytes} bytes`);
    const text = decodeStrictUtf8(bytes);
    if (text === null) throw unreadable(path, 'it is not UTF-8 text');
    return text;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw ioFault(error, `the conversation ${path} cannot be read`);
  }
}

function unreadable(path: string, reason: string): Diagnostic {
  return new Diagnostic('E-RUN-031', `the kept conversation ${path} cannot be used: ${reason}`, {
    hint: 'restore the file, or remove it to let the context begin anew',
  });
}
