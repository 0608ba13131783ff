/** Whether what a task says is believed: its trust class. */
export type Trust = 'trusted' | 'untrusted';

/** How a message reached a capsule, which its headers say (docs/protocol.md "Origin and trust"). */
export type TaskOrigin =
  | { readonly kind: 'message' }
  | { readonly kind: 'peer'; readonly trust: Trust }
  | {
      readonly kind: 'completion';
      readonly trust: Trust;
      /** The session that it is for; undefined when it names none. */
      readonly sessionId: string | undefined;
      readonly delegationId: string | undefined;
    };

const originHeader = 'x-svc-task-origin';
const trustHeader = 'x-svc-task-trust';
const delegationHeader = 'x-svc-delegation-id';
const sessionHeader = 'x-svc-completion-session';

/** The headers of a message of this origin. */
export function encodeTaskOrigin(origin: TaskOrigin): Readonly<Record<string, string>> {
  if (origin.kind === 'message') return {};
  const common = { [originHeader]: origin.kind, [trustHeader]: origin.trust };
  if (origin.kind === 'peer') return common;
  const { delegationId, sessionId } = origin;
  return {
    ...common,
    ...(delegationId === undefined ? {} : { [delegationHeader]: delegationId }),
    ...(sessionId === undefined ? {} : { [sessionHeader]: sessionId }),
  };
}

/** `header` gives the value of a header that stands once. Those of a delegation are read only for a completion (D2 "Events" 3). */
export function decodeTaskOrigin(header: (name: string) => string | undefined): TaskOrigin {
  const trust = header(trustHeader) === 'trusted' ? 'trusted' : 'untrusted';
  switch (header(originHeader)) {
    case 'peer':
      return { kind: 'peer', trust };
    case 'completion':
      return { kind: 'completion', trust, sessionId: header(sessionHeader), delegationId: header(delegationHeader) };
    default:
      return { kind: 'message' };
  }
}
