import { singleHeader } from '@svc/kit/http/single-header.ts';
import type { TaskSource, Trust } from '../session/task.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import type { InboundMessage } from '@svc/protocol/message.ts';

/** The headers that tell how a task reached the capsule, in lower case as node gives them. */
export type OriginHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The delegations that this session started and has not closed; a completion of any other is refused (contracts §7). */
export interface DelegationDoor {
  open(delegationId: string): OpenDelegation | null;
}

export interface OpenDelegation {
  /** Of the task that delegated. */
  readonly contextId: ContextId;
  readonly trust: Trust;
  /** Closes it: its completion, with this text, is a task of the session now. */
  complete(text: string): void;
}

export interface SourceContext {
  readonly sessionId: SessionId;
  readonly delegation: DelegationDoor;
}

export interface SourcedTask {
  readonly source: TaskSource;
  /** Of a completion; null otherwise. */
  readonly delegation: OpenDelegation | null;
}

/** Origin and trust of a message (contracts §7). Throws the fault `-32004` for a completion that is not this session's. */
export function taskSource(message: InboundMessage, headers: OriginHeaders, context: SourceContext): SourcedTask {
  const origin = singleHeader(headers['x-svc-task-origin']);
  const { text } = message;
  if (origin === 'completion') {
    const delegation = delegationOf(headers, context);
    // A child that was given an untrusted task cannot give a trusted one back.
    const trust = delegation.trust === 'trusted' ? trustOf(headers) : 'untrusted';
    return { source: { text, origin, trust, contextId: delegation.contextId }, delegation };
  }
  const common = message.contextId === undefined ? { text } : { text, contextId: message.contextId as ContextId };
  const source: TaskSource =
    origin === 'peer'
      ? { ...common, origin, trust: trustOf(headers) }
      : { ...common, origin: 'message', trust: 'untrusted' };
  return { source, delegation: null };
}

/** The delegation headers are read only for a completion (D2 "Events" 3). */
function delegationOf(headers: OriginHeaders, { sessionId, delegation }: SourceContext): OpenDelegation {
  if (singleHeader(headers['x-svc-completion-session']) !== sessionId) {
    throw new JsonRpcFault(
      'completion-refused',
      'The completion is addressed to a session that is not the one running',
    );
  }
  const delegationId = singleHeader(headers['x-svc-delegation-id']);
  const open = delegationId === undefined ? null : delegation.open(delegationId);
  if (open !== null) return open;
  throw new JsonRpcFault('completion-refused', 'The completion names no delegation that this session has open');
}

function trustOf(headers: OriginHeaders): Trust {
  return singleHeader(headers['x-svc-task-trust']) === 'trusted' ? 'trusted' : 'untrusted';
}
