/** The JSON-RPC binding of A2A: `POST /a2a` (A2A 1.0, 9). */

import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import { runYielding } from '@svc/kit/yield-to-loop.ts';
import {
  briefBody,
  type JsonRpcId,
  type JsonRpcRefusedRequest,
  type JsonRpcRequest,
  parseJsonRpcRequest,
  readJsonRpcRequest,
} from '@svc/protocol/json-rpc.ts';
import type { A2aAnswer, A2aCall, A2aCalls, CallRequest } from './calls.ts';
import { A2aFault, encodeFault, notJson, ofJsonRpc } from './errors.ts';
import { isJsonType } from './json-type.ts';

type Around = ReturnType<A2aCall['around']>;

/** Limit for the id of a call, which every event of its stream repeats. */
const maxCallId = 256;

/** Reads calls out of their envelopes, and puts what they come to into one. */
export class JsonRpcBinding {
  readonly #calls: A2aCalls;

  constructor(calls: A2aCalls) {
    this.#calls = calls;
  }

  handle({ headers, query, body, release }: HttpRequest): Reply | Promise<Reply> {
    if (!isJsonType(headers['content-type'])) {
      return { kind: 'json', status: 415, text: encodeFault(null, notJson()) };
    }
    const request = { headers, query };
    if (body.length > briefBody) return this.#handleLong(body, request, release);
    const parsed = parseJsonRpcRequest(body);
    release();
    return this.#answer(parsed, request);
  }

  /** Nothing waits for a body of megabytes to be read: it is done in turns of the event loop. */
  async #handleLong(body: Buffer, request: CallRequest, release: () => void): Promise<Reply> {
    const parsed = await runYielding(readJsonRpcRequest(body));
    // What waits for its task to end holds no body meanwhile.
    release();
    return await this.#answer(parsed, request);
  }

  #answer(parsed: JsonRpcRequest | JsonRpcRefusedRequest, request: CallRequest): Reply | Promise<Reply> {
    if (parsed.kind === 'fault') return reply(encodeFault(parsed.id, ofJsonRpc(parsed.fault)));
    const { id, method, params } = parsed;
    if (typeof id === 'string' && id.length > maxCallId) {
      return reply(encodeFault(null, new A2aFault('INVALID_REQUEST', `id must have at most ${maxCallId} characters`)));
    }
    const around = (): Around => ({
      head: `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`,
      tail: '}\n\n',
    });
    try {
      const answer = this.#calls.answer({ method, params, request, binding: 'JSONRPC', around });
      if (!(answer instanceof Promise)) return resultReply(id, answer);
      return answer.then(
        (result) => resultReply(id, result),
        (error: unknown) => this.#failed(id, error),
      );
    } catch (error) {
      return this.#failed(id, error);
    }
  }

  #failed(id: JsonRpcId, error: unknown): Reply {
    return reply(encodeFault(id, this.#calls.faultOf(error)));
  }
}

function reply(text: string): Reply {
  return { kind: 'json', status: 200, text };
}

function resultReply(id: JsonRpcId, result: A2aAnswer): Reply {
  return typeof result === 'string' ? reply(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`) : result;
}
