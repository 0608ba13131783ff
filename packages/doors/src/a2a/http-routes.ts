/** The routes of the HTTP+JSON binding of A2A (A2A 1.0, 11.3), and what each reads out of its path and query. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import { decodePercent } from '@svc/protocol/strict-utf8.ts';
import { invalidField } from './errors.ts';

/** A route that a path has, as `method` of A2A. */
interface RouteOfPath {
  /** Methods of HTTP. */
  readonly by: readonly string[];
  readonly method: string;
  /** What the path says of the params. */
  readonly params: JsonObject;
}

export type RouteMatch =
  | { readonly kind: 'route'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'method-not-served'; readonly allow: string }
  | { readonly kind: 'none' };

/** The route of a request below the address of the interface; its path begins with a slash, and is as it was sent. */
export function routeOf(httpMethod: string, path: string): RouteMatch {
  const routes = routesOfPath(path.slice(1).split('/'));
  const found = routes.find(({ by }) => by.includes(httpMethod));
  if (found !== undefined) return { kind: 'route', method: found.method, params: found.params };
  const allowed = routes.flatMap(({ by }) => by);
  return allowed.length === 0 ? { kind: 'none' } : { kind: 'method-not-served', allow: allowed.join(', ') };
}

const reads: readonly string[] = ['GET', 'HEAD'];

function routesOfPath([collection = '', name, inner, innerName, ...more]: readonly string[]): readonly RouteOfPath[] {
  if (more.length > 0) return [];
  if (name === undefined) return wholeCollection(collection);
  if (collection !== 'tasks' || name === '') return [];
  if (inner === undefined) return ofTask(name);
  return inner === 'pushNotificationConfigs' ? ofConfigs(name, innerName) : [];
}

function wholeCollection(collection: string): readonly RouteOfPath[] {
  switch (collection) {
    case 'message:send':
      return [{ by: ['POST'], method: 'SendMessage', params: {} }];
    case 'message:stream':
      return [{ by: ['POST'], method: 'SendStreamingMessage', params: {} }];
    case 'tasks':
      return [{ by: reads, method: 'ListTasks', params: {} }];
    case 'extendedAgentCard':
      return [{ by: reads, method: 'GetExtendedAgentCard', params: {} }];
    default:
      return [];
  }
}

function ofTask(name: string): readonly RouteOfPath[] {
  const verb = /:(cancel|subscribe)$/.exec(name)?.[1];
  const id = segment(verb === undefined ? name : name.slice(0, -verb.length - 1), 'id');
  if (verb === 'cancel') return [{ by: ['POST'], method: 'CancelTask', params: { id } }];
  // The text of the specification subscribes with POST, its definition with GET.
  if (verb === 'subscribe') return [{ by: ['POST', 'GET'], method: 'SubscribeToTask', params: { id } }];
  return [{ by: reads, method: 'GetTask', params: { id } }];
}

function ofConfigs(name: string, configName: string | undefined): readonly RouteOfPath[] {
  const taskId = segment(name, 'taskId');
  if (configName === undefined) {
    return [
      { by: ['POST'], method: 'CreateTaskPushNotificationConfig', params: { taskId } },
      { by: reads, method: 'ListTaskPushNotificationConfigs', params: { taskId } },
    ];
  }
  const params = { taskId, id: segment(configName, 'id') };
  return [
    { by: reads, method: 'GetTaskPushNotificationConfig', params },
    { by: ['DELETE'], method: 'DeleteTaskPushNotificationConfig', params },
  ];
}

function segment(text: string, field: string): string {
  const decoded = decodePercent(text);
  if (decoded === null) throw invalidField(field, 'must be percent-encoded UTF-8');
  return decoded;
}

const numbers: ReadonlySet<string> = new Set(['historyLength', 'history_length', 'pageSize', 'page_size']);
const flags: ReadonlySet<string> = new Set(['includeArtifacts', 'include_artifacts']);

/** Params out of a query, where numbers and flags are texts (A2A 1.0, 11.5). Of a name that is repeated, the first one counts. */
export function queryParams(query: string): JsonObject {
  const params: Record<string, unknown> = {};
  if (query === '') return params;
  for (const [name, text] of new URLSearchParams(query)) if (!Object.hasOwn(params, name)) setParam(params, name, text);
  return params;
}

function setParam(params: Record<string, unknown>, name: string, text: string): void {
  let value: unknown = text;
  // What is neither stays a text, which the method refuses.
  if (numbers.has(name) && /^-?\d{1,15}$/.test(text)) value = Number(text);
  if (flags.has(name) && (text === 'true' || text === 'false')) value = text === 'true';
  Object.defineProperty(params, name, { value, enumerable: true });
}
