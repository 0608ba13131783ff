/** The ids of sessions, tasks and messages: how they are made and how they are recognized. */

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type SessionId = Branded<'SessionId'>;
export type TaskId = Branded<'TaskId'>;
export type ContextId = Branded<'ContextId'>;
export type TraceEventId = Branded<'TraceEventId'>;
export type WorkId = Branded<'WorkId'>;
export type DelegationId = Branded<'DelegationId'>;

/** Where ids get their time and randomness from. */
export interface IdSource {
  /** Unix milliseconds. */
  now(): number;
  randomBytes(size: number): Uint8Array;
}

/** `ses_` and 32 lowercase hex characters (D1 "Identifier shapes"). */
export function mintSessionId(source: IdSource): SessionId {
  return `ses_${hexOf(source.randomBytes(16))}` as SessionId;
}

/** `tsk_` and a UUIDv7 in hex (D1 "Identifier shapes"). */
export function mintTaskId(source: IdSource): TaskId {
  return `tsk_${uuidV7Hex(source)}` as TaskId;
}

/** The id of a message that names no context (D1 "Identifier shapes"). */
export function mintContextId(source: IdSource): ContextId {
  return `ctx_${uuidV7Hex(source)}` as ContextId;
}

export function mintTraceEventId(source: IdSource): TraceEventId {
  return `evt_${uuidV7Hex(source)}` as TraceEventId;
}

/** A command that runs in the background: `wrk_` and a UUIDv7 in hex (docs/protocol.md "Words and ids"). */
export function mintWorkId(source: IdSource): WorkId {
  return `wrk_${uuidV7Hex(source)}` as WorkId;
}

/** One launch of a child: `dlg_` and a UUIDv7 in hex (D2 "Spawner handle"). */
export function mintDelegationId(source: IdSource): DelegationId {
  return `dlg_${uuidV7Hex(source)}` as DelegationId;
}

const sessionIdShape = /^ses_[0-9a-f]{32}$/;

export function isSessionId(text: string): text is SessionId {
  return sessionIdShape.test(text);
}

/** 48 bits of Unix milliseconds, then version, variant and 74 bits of chance (RFC 9562, 5.7). */
function uuidV7Hex(source: IdSource): string {
  const ms = Math.trunc(source.now()).toString(16).padStart(12, '0');
  const random = Uint8Array.from(source.randomBytes(10));
  random[0] = 0x70 | ((random[0] ?? 0) & 0x0f);
  random[2] = 0x80 | ((random[2] ?? 0) & 0x3f);
  return ms + hexOf(random);
}

function hexOf(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += (byte < 16 ? '0' : '') + byte.toString(16);
  return hex;
}

/** When an id that is a UUIDv7 was minted, in Unix milliseconds. */
export function mintedMs(id: string): number {
  return Number.parseInt(id.slice(-32, -20), 16);
}
