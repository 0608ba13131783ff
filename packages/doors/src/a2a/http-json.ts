/** The HTTP+JSON binding of A2A: its routes below `/a2a` (A2A 1.0, 11). */

import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { Reply, ReplyHeaders } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import { runYielding } from '@svc/kit/yield-to-loop.ts';
import { isJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { maxBodyValues, readJsonBody } from '@svc/protocol/json-rpc.ts';
import type { A2aAnswer, A2aCalls } from './calls.ts';
import { A2aFault, encodeStatus, notJson } from './errors.ts';
import { queryParams, routeOf } from './http-routes.ts';
import { isJsonType } from './json-type.ts';

/** Each event of a stream is a `StreamResponse` by itself. */
const around = (): { readonly head: string; readonly tail: string } => ({ head: 'data: ', tail: '\n\n' });

/** Finds the call in path, query and body, and answers in the form of the binding, refusals of the door included. */
export class HttpJsonBinding {
  readonly #calls: A2aCalls;

  constructor(calls: A2aCalls) {
    this.#calls = calls;
  }

  /** `below` is the path behind that of the interface. */
  async handle(request: HttpRequest, below: string): Promise<Reply> {
    try {
      const route = routeOf(request.method, below);
      if (route.kind === 'none') return failed(new A2aFault('METHOD_NOT_FOUND', 'Nothing is served at this path'));
      if (route.kind === 'method-not-served') {
        const fault = new A2aFault('INVALID_REQUEST', `This path takes ${route.allow}`);
        return failed(fault, { status: 405, headers: { allow: route.allow } });
      }
      const { headers, query } = request;
      const given = request.method === 'POST' ? await bodyOf(request) : queryParams(query);
      const params = { ...given, ...route.params };
      const call = { method: route.method, params, request: { headers, query }, binding: 'HTTP+JSON', around } as const;
      return reply(await this.#calls.answer(call));
    } catch (error) {
      if (error instanceof NotJson) return failed(notJson(), { status: 415 });
      if (error instanceof HttpRefusal) return refused(error);
      return failed(this.#calls.faultOf(error));
    }
  }
}

/** A body of another type, which HTTP has a status for. */
class NotJson extends Error {}

/** The body, which is then released; an empty one or `null` is an empty object. */
async function bodyOf({ headers, body, release }: HttpRequest): Promise<JsonObject> {
  if (body.length === 0) return {};
  if (!isJsonType(headers['content-type'])) throw new NotJson();
  // Nothing waits for a body of megabytes to be read.
  const read = await runYielding(readJsonBody(body));
  release();
  if (read.kind === 'too-many') throw invalid(`the body holds more than ${maxBodyValues} values`);
  if (read.kind !== 'json') throw new A2aFault('PARSE');
  if (read.value === null) return {};
  if (!isJsonObject(read.value)) throw invalid('the body must be an object');
  return read.value;
}

function invalid(why: string): A2aFault {
  return new A2aFault('INVALID_REQUEST', `Request payload validation error: ${why}`);
}

/** The type of results. Refusals have the type of `google.rpc.Status` in JSON (A2A 1.0, 11.2 and 11.6). */
const contentType = 'application/a2a+json';

function reply(answer: A2aAnswer): Reply {
  return typeof answer === 'string' ? { kind: 'json', status: 200, text: answer, contentType } : answer;
}

function failed(
  fault: A2aFault,
  { status = fault.status, headers }: { readonly status?: number; readonly headers?: ReplyHeaders } = {},
): Reply {
  return { kind: 'json', status, text: encodeStatus(fault, status), headers };
}

const statusNames: Readonly<Record<number, string>> = { 401: 'UNAUTHENTICATED', 403: 'PERMISSION_DENIED' };

/** What all doors refuse alike: a scope that is missing, a token that is not good any more, no place for another stream. */
function refused({ status, message, headers }: HttpRefusal): Reply {
  const statusName = statusNames[status] ?? 'RESOURCE_EXHAUSTED';
  const text = encodeStatus({ statusName, message, details: [] }, status);
  return { kind: 'json', status, text, headers };
}
