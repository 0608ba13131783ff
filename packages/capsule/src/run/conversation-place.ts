/** Keeps the conversations of a session in a directory that it holds alone, or in memory. */

import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';

import type { Clock } from '@svc/kit/clock.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import { isOfHere, keepTouched, mayRun, type Touches, thisProcess } from '@svc/record/sessions/recorded-process.ts';
import { removeIfPossible } from '@svc/record/sessions/running-record.ts';
import { continuedContext } from '@svc/record/sessions/session-names.ts';
import type { SessionDirectories } from '@svc/record/sessions/session-directories.ts';
import type { Conversations } from '@svc/session/loop/conversations.ts';
import type { Message } from '@svc/session/model/driver.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';

interface ConversationPlaceRequest {
  /** Where `.svc/` lies. */
  readonly root: string;
  readonly capsule: string;
  /** `--workdir`, links resolved. */
  readonly workdir: string;
  /** Distinguishes conversations that belong to the same workdir; absent for those of `svc run`. */
  readonly thread?: string | undefined;
  readonly sessionId: SessionId;
}

/** The directory of one capsule's conversations in one workdir, held by one session. */
export interface ConversationPlace {
  readonly directory: string;
  readonly release: () => void;
}

/** Who starts a session again after a crash of the machine waits for this. */
const touches: Touches = { eachMs: 60_000, maxSilenceMs: 5 * 60_000 };

/**
 * Makes `.svc/conversations/<hash of the workdir>/<capsule>/`, owner-only, and takes it for this session. `E-RUN-033` when another
 * one that lives has it, `E-IO-001` when the file system refuses.
 */
export function openConversationPlace(
  request: ConversationPlaceRequest,
  clock: Pick<Clock, 'now' | 'after'>,
): ConversationPlace {
  const { root, capsule, workdir, thread, sessionId } = request;
  // No path holds a NUL.
  const key = sha256Hex(thread === undefined ? workdir : `${workdir}\0${thread}`);
  const directory = join(root, '.svc', 'conversations', key, capsule);
  try {
    makeDirectories(directory, 0o700);
    const holder = announce(directory, sessionId);
    const other = otherHolder(directory, sessionId, clock.now());
    if (other !== null) {
      removeIfPossible(holder);
      throw isTaken(other, workdir);
    }
    const stopTouching = keepTouched(holder, clock, touches);
    const release = (): void => {
      stopTouching();
      removeIfPossible(holder);
    };
    return { directory, release };
  } catch (error) {
    throw ioFault(error, `the directory ${directory} of conversations cannot be used`);
  }
}

function isTaken(other: Holder, workdir: string): Diagnostic {
  const message = `session ${other.session_id} (process ${other.pid}) works in ${workdir} already`;
  const otherwise = 'or give this one a workdir of its own';
  const hint = isOfHere(other)
    ? `stop it with svc stop ${other.session_id}, ${otherwise}`
    : `it is of another container or machine, or of before this one was last started: stop it there, wait 5 minutes where it has ended, ${otherwise}`;
  return new Diagnostic('E-RUN-033', message, { hint });
}

const holderShape = z.object({
  session_id: z.string(),
  pid: z.int().check(z.gte(1)),
  process_start: z.nullable(z.string()),
  boot: z.nullish(z.string()),
  pid_space: z.nullish(z.string()),
});

type Holder = z.infer<typeof holderShape>;

const holderEnding = '.holder';
const largestHolder = 64 * 1024;

/**
 * Says that this session wants the directory before it looks who else does: of two that begin at once at least one sees the other.
 */
function announce(directory: string, sessionId: SessionId): string {
  const path = join(directory, `${sessionId}${holderEnding}`);
  const holder: Holder = { session_id: sessionId, ...thisProcess() };
  writeFileSync(path, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  return path;
}

/** Returns the session that holds the place, if there is one. A file that stays behind names a dead process and keeps nobody out. */
function otherHolder(directory: string, sessionId: SessionId, now: number): Holder | null {
  for (const name of readdirSync(directory)) {
    if (!name.endsWith(holderEnding) || name === `${sessionId}${holderEnding}`) continue;
    const path = join(directory, name);
    const found = readHolder(path);
    if (found !== null && mayRun(found.holder, now - found.touchedMs, touches)) return found.holder;
    removeIfPossible(path);
  }
  return null;
}

/** Returns null for one that is gone meanwhile, that is only being written, or that was never brought to the disk. */
function readHolder(path: string): { readonly holder: Holder; readonly touchedMs: number } | null {
  try {
    const holder = holderShape.safeParse(JSON.parse(String(readFileUpTo(path, largestHolder)))).data ?? null;
    return holder === null ? null : { holder, touchedMs: statSync(path).mtimeMs };
  } catch (error) {
    if (error instanceof SyntaxError || isErrno(error, 'ENOENT', 'EFTYPE', 'EISDIR')) return null;
    throw error;
  }
}

/** The conversations of a session; `close` lets go of the place that they are kept in. */
export interface KeptThreads {
  readonly conversations: Conversations;
  readonly close: () => void;
}

type ConversationsRequest = Pick<OpenSessionRequest, 'request' | 'launch' | 'sessionId'>;

/**
 * What `lifecycle.conversation` asks for. Threads belong to the workdir that `--workdir` names and survive the session then; in a fresh
 * workdir they live as long as the session (docs/adr/sessions.md "Conversations belong to the workdir").
 */
export async function openConversations(
  asked: ConversationsRequest,
  { workdir }: SessionDirectories,
): Promise<KeptThreads> {
  const { request, launch, sessionId } = asked;
  const before = beforeOf(asked);
  const { thread } = request.changes ?? {};
  const { source } = launch;
  // An editor goes on with its threads in the folder that is open in it.
  const folder = request.workdir === null ? request.openFolder : workdir;
  if (folder === undefined) {
    const { continuedConversations, threadedConversations } = await import('@svc/session/loop/conversations.ts');
    const conversations = before === null ? threadedConversations() : continuedConversations(new Map([before]));
    return { conversations, close: () => {} };
  }
  const { KeptConversations } = await import('@svc/session/loop/kept-conversations.ts');
  const { name: capsule } = launch.loaded.manifest;
  const place = openConversationPlace({ root: source.state, capsule, workdir: folder, thread, sessionId }, systemClock);
  const redact = (text: string): string => launch.redactor.redact(text);
  try {
    const conversations = new KeptConversations({ directory: place.directory, redact });
    if (before !== null) conversations.save(...before);
    return { conversations, close: place.release };
  } catch (error) {
    place.release();
    throw error;
  }
}

/** Thinking is vouched for by the model that did it, and another one refuses it. */
function beforeOf({ request, launch, sessionId }: ConversationsRequest): [ContextId, readonly Message[]] | null {
  const { continues } = request.changes ?? {};
  if (continues === undefined) return null;
  const isSame = continues.model === launch.loaded.manifest.inference.model;
  const messages = isSame ? continues.messages : continues.messages.map(withoutThinking);
  return [continuedContext(sessionId) as ContextId, messages];
}

function withoutThinking(message: Message): Message {
  const content = message.content.filter(({ type }) => type !== 'thinking');
  if (content.length === message.content.length) return message;
  return { ...message, content: content.length === 0 ? [{ type: 'text', text: '[no words]' }] : content };
}
