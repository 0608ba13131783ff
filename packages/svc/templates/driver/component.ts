// A driver that answers without a model: with the number of messages that it was sent.
import { driverExport } from '@svc/guest/driver';

/** `svc:driver/inference`: one turn. What it throws fails the task, with its message. */
export const inference = driverExport(({ messages }) => ({
  content: [{ tag: 'text', val: `That makes ${messages.length}.` }],
  stopReason: { tag: 'end-turn' },
  usage: null,
  continuationId: null,
}));
