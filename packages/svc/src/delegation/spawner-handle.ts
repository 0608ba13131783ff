import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { parseJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { isSessionId, type ContextId, type DelegationId, type SessionId } from '@svc/protocol/ids.ts';

/** What a delegated child is told of its parent, in `SVC_SPAWNER` (D2 "Spawner handle"). It authorises nothing but a report of the child's end. */
export interface SpawnerHandle {
  /** The parent's endpoint, `http://host:port`. */
  readonly url: string;
  /** The parent's session; a completion addressed elsewhere is refused. */
  readonly session_id: SessionId;
  /** The conversation that the delegation was made from. */
  readonly context_id: ContextId;
  /** The trust class of the delegating task. */
  readonly trust: 'trusted' | 'untrusted';
  readonly delegation_id: DelegationId;
}

/** Compact JSON, keys in the order of the document. */
export function encodeSpawnerHandle(handle: SpawnerHandle): string {
  const { url, session_id, context_id, trust, delegation_id } = handle;
  return JSON.stringify({ url, session_id, context_id, trust, delegation_id });
}

const mostCharacters = 8192;

/**
 * The handle of `SVC_SPAWNER`; null when the variable is not set, since nobody delegated to this capsule. Throws `E-RUN-020` for anything
 * that cannot be read as a handle; keys it does not know are ignored.
 */
export function parseSpawnerHandle(text: string | undefined): SpawnerHandle | null {
  if (text === undefined) return null;
  if (text.length > mostCharacters) throw unreadable(`it has more than ${mostCharacters} characters`);
  const fields = objectOf(text);
  const { url, session_id: sessionId, context_id: contextId, trust, delegation_id: delegationId } = fields;
  if (typeof url !== 'string' || !isEndpoint(url)) throw unreadable('url is no http://host:port');
  if (typeof sessionId !== 'string' || !isSessionId(sessionId)) throw unreadable('session_id is no session id');
  if (typeof contextId !== 'string' || contextId === '') throw unreadable('context_id is missing');
  if (trust !== 'trusted' && trust !== 'untrusted') throw unreadable('trust is neither trusted nor untrusted');
  if (typeof delegationId !== 'string' || !delegationIdShape.test(delegationId)) {
    throw unreadable('delegation_id does not begin with dlg_');
  }
  return {
    url,
    session_id: sessionId,
    context_id: contextId as ContextId,
    trust,
    delegation_id: delegationId as DelegationId,
  };
}

/** Both go into headers as they are. */
const delegationIdShape = /^dlg_[0-9A-Za-z_-]{1,128}$/;

function objectOf(text: string): JsonObject {
  const object = parseJsonObject(text);
  if (object === null) throw unreadable('it is no JSON object');
  return object;
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, port, origin } = new URL(text);
  return protocol === 'http:' && port !== '' && (text === origin || text === `${origin}/`);
}

function unreadable(problem: string): Diagnostic {
  return new Diagnostic('E-RUN-020', `SVC_SPAWNER cannot be read as a spawner handle: ${problem}`, {
    hint: 'a parent capsule sets it for its child; unset it to run this capsule by hand',
  });
}
