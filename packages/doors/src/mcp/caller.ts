/** Who calls over the Model Context Protocol, what they call, and what their program can do. */

import type * as Sdk from '@modelcontextprotocol/server';

import { decodeTraceparent } from '@svc/protocol/traceparent.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { Sender } from '@svc/session/task/task.ts';
import { may } from '../callers/scopes.ts';
import type { DoorCore } from '../core/door-core.ts';
import { maySee, type Principal } from '../callers/principal.ts';
import { acceptedForm } from './accepted-form.ts';

/** What a client brings back with the answer to a question. */
export interface AskedState {
  readonly taskId: string;
  readonly waitId: string;
  readonly principal: string;
}

/** One client of one capsule. */
export interface Caller {
  readonly core: DoorCore;
  readonly principal: Principal;
  readonly sdk: typeof Sdk;
  readonly states: Sdk.RequestStateCodec<AskedState>;
  /** What the client said that it can do, as it initialized; of later revisions each request says it. */
  readonly capabilities: () => unknown;
}

export type Context = Sdk.ServerContext;

const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const tasksExtension = 'io.modelcontextprotocol/tasks';

/** What the client can do, as its request says it; undefined for a request of before 2026. */
function declaredWith({ envelope }: Context['mcpReq']): unknown {
  // The library's own key is of a type that it does not export.
  return (envelope as Readonly<Record<string, unknown>> | undefined)?.[capabilitiesKey];
}

/** Whether the client keeps to the revisions before 2026, which say once for all what it can do. */
export function isOfBefore({ mcpReq }: Context): boolean {
  return declaredWith(mcpReq) === undefined;
}

/** Whether the client can show its user a form, and may send the answer. One that names no kind of question takes forms. */
export function takesForms(context: Context, { capabilities, principal }: Caller): boolean {
  if (!may(principal, 'answer')) return false;
  // A question of before 2026 is a request in the stream of events that is the answer.
  const accept = context.http?.req?.headers.get('accept');
  if (isOfBefore(context) && typeof accept === 'string' && acceptedForm(accept) === 'json') return false;
  const declared = declaredWith(context.mcpReq) ?? capabilities();
  const elicitation = asJsonObject(asJsonObject(declared)?.['elicitation']);
  return elicitation !== null && (elicitation['form'] !== undefined || elicitation['url'] === undefined);
}

/** Whether the client wants a task at once, and may ask for what came of it by itself. */
export function takesTasks({ mcpReq }: Context, { principal }: Caller): boolean {
  if (!may(principal, 'read')) return false;
  const extensions = asJsonObject(asJsonObject(declaredWith(mcpReq))?.['extensions']);
  return extensions?.[tasksExtension] !== undefined;
}

/** The record of a task that the caller may know of; null for every other. */
export function visibleTask(id: string, { core, principal }: Caller): TaskRecord | null {
  const record = core.records.find(id);
  return record !== null && maySee(principal, record.task) ? record : null;
}

/** A `traceparent` of another form than its standard's counts as absent. */
export function senderOf({ mcpReq, http }: Context, { principal }: Caller): Sender {
  const given = mcpReq._meta?.['traceparent'] ?? http?.req?.headers.get('traceparent');
  const traceparent = typeof given === 'string' && decodeTraceparent(given) !== null ? given : undefined;
  return { principal: principal.name, tags: traceparent === undefined ? {} : { traceparent } };
}
