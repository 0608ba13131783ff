import { singleHeader } from '../http/single-header.ts';
import type { TaskSource, Trust } from '../session/task.ts';
import type { ContextId, SessionId } from '../wire/ids.ts';
import { JsonRpcFault } from '../wire/json-rpc.ts';
import type { InboundMessage } from '../wire/message.ts';

/** The headers that tell how a task reached the capsule, in lower case as node gives them. */
export type OriginHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Which delegations of this session are still open; a completion of any other is refused (contracts §7). */
export interface DelegationDoor {
  isOpen(delegationId: string): boolean;
}

export interface SourceContext {
  readonly sessionId: SessionId;
  readonly delegation: DelegationDoor;
}

/** Origin and trust of a message (contracts §7). Throws the fault `-32004` for a completion that is not this session's. */
export function taskSource(message: InboundMessage, headers: OriginHeaders, context: SourceContext): TaskSource {
  const origin = singleHeader(headers['x-svc-task-origin']);
  const common = {
    text: message.text,
    ...(message.contextId === undefined ? {} : { contextId: message.contextId as ContextId }),
  };
  if (origin === 'peer') return { ...common, origin, trust: trustOf(headers) };
  if (origin !== 'completion') return { ...common, origin: 'message', trust: 'untrusted' };
  checkCompletion(headers, context);
  return { ...common, origin, trust: trustOf(headers) };
}

/** The delegation headers are read only for a completion (D2 "Events" 3). */
function checkCompletion(headers: OriginHeaders, { sessionId, delegation }: SourceContext): void {
  if (singleHeader(headers['x-svc-completion-session']) !== sessionId) {
    throw new JsonRpcFault(
      'completion-refused',
      'The completion is addressed to a session that is not the one running',
    );
  }
  const delegationId = singleHeader(headers['x-svc-delegation-id']);
  if (delegationId === undefined || !delegation.isOpen(delegationId)) {
    throw new JsonRpcFault('completion-refused', 'The completion names no delegation that this session has open');
  }
}

function trustOf(headers: OriginHeaders): Trust {
  return singleHeader(headers['x-svc-task-trust']) === 'trusted' ? 'trusted' : 'untrusted';
}
