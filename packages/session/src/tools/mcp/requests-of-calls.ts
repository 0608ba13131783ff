/** Has a person judge the requests of an MCP server, whose one process outlives its calls. */

import type { HeldRequest, RequestJudge, RequestVerdict } from '@svc/kit/keys/bound-host.ts';
import type { QuestionTurns } from '../question-turns.ts';

/** What asks for one call, and in whose turn. */
export interface AskingRequests {
  readonly requests: RequestJudge;
  readonly turns: QuestionTurns;
}

/**
 * Judges each request as one of the call that the server works on. The server does not say which call makes it, so outside a call, and where two calls meet,
 * the request is refused.
 */
export class RequestsOfCalls implements RequestJudge {
  readonly #calls = new Set<RequestJudge>();

  asks(rule: string): boolean {
    const [only] = this.#calls;
    return only === undefined || this.#calls.size > 1 || only.asks(rule);
  }

  async judge(request: HeldRequest, held: AbortSignal): Promise<RequestVerdict> {
    const [only] = this.#calls;
    if (only !== undefined && this.#calls.size === 1) return await only.judge(request, held);
    const reason =
      only === undefined ? 'no call of its server is under way' : 'several calls of its server are under way';
    return { kind: 'refused', reason: `needs a person to approve it, and ${reason}` };
  }

  /** Sends a call, whose requests they are until it has ended. */
  async during<Answer>(requests: RequestJudge, send: () => Promise<Answer>): Promise<Answer> {
    this.#calls.add(requests);
    try {
      return await send();
    } finally {
      this.#calls.delete(requests);
    }
  }
}
