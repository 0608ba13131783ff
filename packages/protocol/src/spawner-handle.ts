/** What a parent capsule hands its child, so that the child can report back. */

import { isSessionId, type ContextId, type DelegationId, type SessionId } from './ids.ts';
import { parseJsonObject } from './json-object.ts';
import type { Trust } from './task-origin.ts';

/** What a delegated child learns of its parent from `SVC_SPAWNER` (D2 "Spawner handle"). It authorises only a report of the child's end. */
export interface SpawnerHandle {
  /** The parent's endpoint, `http://host:port`. */
  readonly url: string;
  /** The parent's session; a completion addressed elsewhere is refused. */
  readonly session_id: SessionId;
  /** The conversation that the delegation was made from. */
  readonly context_id: ContextId;
  /** The trust class of the delegating task. */
  readonly trust: Trust;
  readonly delegation_id: DelegationId;
}

/** Compact JSON, keys in the order of the document. */
export function encodeSpawnerHandle(handle: SpawnerHandle): string {
  const { url, session_id, context_id, trust, delegation_id } = handle;
  return JSON.stringify({ url, session_id, context_id, trust, delegation_id });
}

export type DecodedSpawnerHandle =
  | { readonly kind: 'handle'; readonly handle: SpawnerHandle }
  /** `problem` is a clause for a person. */
  | { readonly kind: 'unreadable'; readonly problem: string };

const maxCharacters = 8192;
/** Both ids go into headers as they are. */
const delegationIdShape = /^dlg_[0-9A-Za-z_-]{1,128}$/;

/** Keys that it does not know are ignored. */
export function decodeSpawnerHandle(text: string): DecodedSpawnerHandle {
  if (text.length > maxCharacters) return unreadable(`it has more than ${maxCharacters} characters`);
  const fields = parseJsonObject(text);
  if (fields === null) return unreadable('it is no JSON object');
  const { url, session_id: sessionId, context_id: contextId, trust, delegation_id: delegationId } = fields;
  if (typeof url !== 'string' || !isEndpoint(url)) return unreadable('url is no http://host:port');
  if (typeof sessionId !== 'string' || !isSessionId(sessionId)) return unreadable('session_id is no session id');
  if (typeof contextId !== 'string' || contextId === '') return unreadable('context_id is missing');
  if (trust !== 'trusted' && trust !== 'untrusted') return unreadable('trust is neither trusted nor untrusted');
  if (typeof delegationId !== 'string' || !delegationIdShape.test(delegationId)) {
    return unreadable('delegation_id does not begin with dlg_');
  }
  const ids = { context_id: contextId as ContextId, delegation_id: delegationId as DelegationId };
  return { kind: 'handle', handle: { url, session_id: sessionId, trust, ...ids } };
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, port, origin } = new URL(text);
  return protocol === 'http:' && port !== '' && (text === origin || text === `${origin}/`);
}

function unreadable(problem: string): DecodedSpawnerHandle {
  return { kind: 'unreadable', problem };
}
