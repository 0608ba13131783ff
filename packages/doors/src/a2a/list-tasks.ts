/** Lists the tasks of a client in pages, the one that changed last first. */

import { parseJson } from '@svc/protocol/json-object.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskRecords } from '@svc/session/task-records.ts';
import { maySee, type Principal } from '../callers/principal.ts';
import { invalidField } from './errors.ts';
import { stateName, taskObject } from './objects.ts';
import type { ListRequest } from './params.ts';

/** The place of a task in the list: what a page ends with, the next one begins behind. */
type Place = readonly [changedMs: number, id: string];

/** The `ListTasksResponse`. Tasks that change while a client reads page by page move to the front of the list, which it has behind it. */
export function listTasks(
  asked: ListRequest,
  principal: Principal,
  records: TaskRecords,
): Readonly<Record<string, unknown>> {
  const wanted: TaskRecord[] = [];
  for (const record of records.all())
    if (maySee(principal, record.task) && isWanted(record, asked)) wanted.push(record);
  wanted.sort((one, other) => compare(placeOf(one), placeOf(other)));
  const after = asked.pageToken === null ? null : parseToken(asked.pageToken);
  const rest = after === null ? wanted : wanted.filter((record) => compare(placeOf(record), after) > 0);
  const page = rest.slice(0, asked.pageSize);
  const last = page.at(-1);
  const view = { historyLength: asked.historyLength, artifacts: asked.includeArtifacts };
  return {
    tasks: page.map((record) => taskObject(record, view)),
    nextPageToken: last === undefined || rest.length === page.length ? '' : encodeToken(placeOf(last)),
    pageSize: asked.pageSize,
    totalSize: wanted.length,
  };
}

function isWanted(record: TaskRecord, { contextId, status, changedSince }: ListRequest): boolean {
  if (contextId !== null && record.contextId !== contextId) return false;
  if (status !== null && stateName(record.state) !== status) return false;
  return changedSince === null || record.changedMs >= changedSince;
}

function placeOf({ changedMs, id }: TaskRecord): Place {
  return [changedMs, id];
}

/** Newest first; of one time, the task that was accepted last. */
function compare([oneMs, one]: Place, [otherMs, other]: Place): number {
  if (oneMs !== otherMs) return otherMs - oneMs;
  return one === other ? 0 : one < other ? 1 : -1;
}

function encodeToken(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function parseToken(token: string): Place {
  const place = parseJson(Buffer.from(token, 'base64url').toString());
  const [changedMs, id]: unknown[] = Array.isArray(place) ? place : [];
  if (typeof changedMs !== 'number' || typeof id !== 'string') {
    throw invalidField('pageToken', 'must be the nextPageToken of an earlier answer');
  }
  return [changedMs, id];
}
