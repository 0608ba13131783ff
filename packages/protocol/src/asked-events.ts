/** How a client asks a capsule for more than the specification has. */

/** The header, and its only value (docs/protocol.md "Events beyond the specification"). */
export const eventsHeader = 'svc-events';
export const eventsVersion = '1';

/** What `POST /` answers to requests with the header, beside what the card lists. */
export const methodsBeyond = ['tasks/answer', 'tasks/command', 'approvals/list', 'approvals/answer'] as const;
/** The same for the children of the capsule alone, so that no snapshot lists it (docs/delegation.md "Calls that a person approves"). */
export const childMethod = 'approvals/ask';
