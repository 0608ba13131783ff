import type { InferenceRequest, Message } from './driver.ts';

/** What a driver's component fails with that does not keep the conversation it is to continue (packages/guest/wit/deps/svc-driver). */
export const forgotten = 'kept: forgotten';

export interface NextRequest {
  readonly whole: InferenceRequest;
  /** Without the messages that the driver keeps; null when it keeps none of them. */
  readonly onward: InferenceRequest | null;
}

/** `kept:`, a name of the driver's own, and how many messages it keeps. */
const keptShape = /^kept:.{1,200}:(\d{1,9})$/;

/**
 * The messages of a task that its driver keeps: a driver that answers with the continuation id `kept:<name>:<count>` has the first `count`
 * messages of the request, and the next one brings only those behind them.
 */
export class KeptMessages {
  #sent: readonly Message[] = [];

  next(request: InferenceRequest): NextRequest {
    const sent = this.#sent;
    const { continuationId, messages } = request;
    this.#sent = messages;
    const count = Number(keptShape.exec(continuationId ?? '')?.[1] ?? 0);
    if (count === 0) return { whole: request, onward: null };
    const { continuationId: _, ...whole } = request;
    // A hook may have replaced the conversation, and a driver may claim what it was never sent.
    const isKept = count === sent.length && sent.every((message, index) => messages[index] === message);
    return { whole, onward: isKept ? { ...request, messages: messages.slice(count) } : null };
  }
}
