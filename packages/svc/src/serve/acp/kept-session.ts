/** Keeps what an editor received of a session, for when it opens that again. */

import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import { closedFolderRoot } from '@svc/record/sessions/adhoc-root.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import type { ServedOptions } from '../run-served.ts';
import type { AcpUpdate } from './updates.ts';

/** Limit for one session; the oldest turns give way. */
const maxBytes = 16 * 1024 * 1024;
/** So much is left where turns give way, so that it is not done with each update. */
const leftBytes = 12 * 1024 * 1024;
const maxSessions = 200;
const maxTitle = 80;
/** Limit for the first line, which names the session. */
const maxHead = 64 * 1024;

export interface SessionInfo {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title: string;
  /** ISO 8601. */
  readonly updatedAt: string;
}

/** 32 hex digits. */
export function isAcpSessionId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f]{32}$/.test(id);
}

/** Beside the manifest, and in the home where its folder is given to the capsule; a capsule of a store has its workspace where it is started (docs/cli.md "svc run"). */
export function workspacesOf(
  { capsule, manifest }: Pick<ServedOptions, 'capsule' | 'manifest'>,
  { cwd, home }: { readonly cwd: string; readonly home: string },
): readonly string[] {
  const beside = capsule === undefined ? dirname(resolve(cwd, manifest)) : cwd;
  return [beside, closedFolderRoot(home, beside)];
}

/** The sessions of a workspace, at each of its places: `<session>.jsonl` in `.svc/acp/`, owner-only, the first line names it and the others are updates. */
export class KeptSessions {
  readonly #folders: readonly string[];

  constructor(workspaces: readonly string[]) {
    this.#folders = workspaces.map((workspace) => join(workspace, '.svc', 'acp'));
  }

  /** The one that changed last first. */
  list(): readonly SessionInfo[] {
    const names = new Set(this.#folders.flatMap((folder) => unlessRefused(() => readdirSync(folder), [])));
    const found = [...names].flatMap((name) => this.find(name.replace(/\.jsonl$/, '')) ?? []);
    return found.toSorted((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1));
  }

  /** Returns null for one that is not kept. */
  find(sessionId: unknown): SessionInfo | null {
    if (!isAcpSessionId(sessionId)) return null;
    const path = this.#path(sessionId);
    return unlessRefused(() => {
      const updatedAt = lstatSync(path).mtime.toISOString();
      const { cwd, title } = headOf(readHead(path)) ?? {};
      return cwd === undefined || title === undefined ? null : { sessionId, cwd, title, updatedAt };
    }, null);
  }

  /** Updates of a session that is kept, in their order. Passes over other lines. */
  *updates(sessionId: string): Generator<AcpUpdate, void> {
    const bytes = readFileUpTo(this.#path(sessionId), 2 * maxBytes);
    const [, ...lines] = (bytes ?? Buffer.alloc(0)).toString().split('\n');
    for (const line of lines) {
      const update = parseJsonObject(line);
      if (typeof update?.['sessionUpdate'] === 'string') yield update as unknown as AcpUpdate;
    }
  }

  /** Throws `E-IO-001`. */
  keep(sessionId: string, cwd: string, redact: (text: string) => string): KeptSession {
    const folder = dirname(this.#path(sessionId));
    try {
      makeDirectories(folder, 0o700);
    } catch (error) {
      throw ioFault(error, `the directory ${folder} cannot be made`);
    }
    return new KeptSession(this.#path(sessionId), { cwd, redact, makeRoom: () => this.#makeRoom() });
  }

  #makeRoom(): void {
    for (const { sessionId } of this.list().slice(maxSessions - 1)) rmSync(this.#path(sessionId), { force: true });
  }

  /** The first place, unless it lies at another one. */
  #path(sessionId: string): string {
    const paths = this.#folders.map((folder) => join(folder, `${sessionId}.jsonl`));
    return paths.find((path) => existsSync(path)) ?? paths[0] ?? '';
  }
}

interface KeptAbout {
  readonly cwd: string;
  /** Takes the secrets out. */
  readonly redact: (text: string) => string;
  /** Called before another session is kept. */
  readonly makeRoom: () => void;
}

/** One session that goes on. Its file is there from its first prompt on. */
export class KeptSession {
  readonly #path: string;
  readonly #about: KeptAbout;
  #bytes: number | null;
  /** Chunks of one message are kept together. */
  #chunk: Chunk | null = null;

  constructor(path: string, about: KeptAbout) {
    this.#path = path;
    this.#about = about;
    this.#bytes = unlessRefused(() => lstatSync(path).size, null);
  }

  /** The first prompt names the session. Throws `E-IO-001` where it cannot be kept; nothing is kept then. */
  begin(prompt: string): void {
    if (this.#bytes !== null) return;
    this.#about.makeRoom();
    const title = shortened(prompt.replaceAll(/\s+/g, ' ').trim(), maxTitle).toWellFormed();
    this.#bytes = 0;
    this.#append({ version: 1, cwd: this.#about.cwd, title });
  }

  /** Nothing is kept before the first prompt. */
  add(update: AcpUpdate): void {
    if (this.#bytes === null) return;
    const chunk = this.#chunk;
    if (chunk !== null && isSameMessage(chunk, update)) {
      this.#chunk = { ...update, content: { type: 'text', text: `${textOf(chunk)}${textOf(update)}` } };
      if (textOf(this.#chunk).length > maxTogether) this.flush();
      return;
    }
    this.flush();
    if (isChunk(update)) this.#chunk = update;
    else this.#append(update);
  }

  flush(): void {
    const chunk = this.#chunk;
    this.#chunk = null;
    if (chunk !== null) this.#append(chunk);
  }

  #append(value: object): void {
    const line = `${JSON.stringify(redactedJson(value, this.#about.redact))}\n`;
    const length = Buffer.byteLength(line);
    try {
      if ((this.#bytes ?? 0) + length > maxBytes) this.#giveWay(length);
      appendFileSync(this.#path, line, { mode: 0o600 });
    } catch (error) {
      throw ioFault(error, `${this.#path} cannot be written`);
    }
    this.#bytes = (this.#bytes ?? 0) + length;
  }

  /** Turns begin with what the user says. One that is too long by itself loses its beginning. */
  #giveWay(length: number): void {
    const [head = '', ...lines] = readFileSync(this.#path, 'utf8').split('\n');
    let bytes = 0;
    let from = lines.length;
    while (from > 0 && bytes + length < leftBytes) {
      from -= 1;
      bytes += Buffer.byteLength(lines[from] ?? '') + 1;
    }
    const turn = lines.findIndex((line, at) => at >= from && line.startsWith('{"sessionUpdate":"user_message_chunk"'));
    const text = [head, ...lines.slice(turn < 0 ? from + 1 : turn)].join('\n');
    replaceFileSync(this.#path, Buffer.from(text), { mode: 0o600 });
    this.#bytes = Buffer.byteLength(text);
  }
}

type Chunk = Extract<AcpUpdate, { readonly messageId?: string }>;

/** Characters of one chunk that is kept. */
const maxTogether = 64 * 1024;

function isChunk(update: AcpUpdate): update is Chunk {
  return update.sessionUpdate === 'agent_message_chunk' || update.sessionUpdate === 'agent_thought_chunk';
}

function isSameMessage(chunk: Chunk, update: AcpUpdate): update is Chunk {
  return isChunk(update) && update.sessionUpdate === chunk.sessionUpdate && update.messageId === chunk.messageId;
}

function textOf({ content }: Chunk): string {
  return String(content['text']);
}

/** The first line. */
function readHead(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(maxHead);
    const text = bytes.subarray(0, readSync(file, bytes, 0, maxHead, 0)).toString();
    return text.slice(0, Math.max(0, text.indexOf('\n')));
  } finally {
    closeSync(file);
  }
}

function headOf(line: string): { readonly cwd: string; readonly title: string } | null {
  const { version, cwd, title } = parseJsonObject(line) ?? {};
  return version === 1 && typeof cwd === 'string' && typeof title === 'string' ? { cwd, title } : null;
}
