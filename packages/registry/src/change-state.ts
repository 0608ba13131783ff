/** Changes the state of a published version. */

import type { Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import { spell } from '@svc/artifacts/store/artifact-ref.ts';
import { decodeStateChange, encodeStateReceipt } from '@svc/protocol/version-states.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { type Access, forbidden } from './access.ts';
import type { ArtifactRecords } from './artifact-records.ts';
import { parseStatePath } from './paths.ts';
import { parseQuery } from './publish-query.ts';
import { badInput, notFound, notServed } from './refusals.ts';
import type { VersionStates } from './version-states.ts';

interface StateChanging {
  readonly records: ArtifactRecords;
  readonly states: VersionStates;
  readonly access: Access;
}

/**
 * `PUT /v1/artifacts/{name}/{version}/state`: `200` with the state once it is durable (docs/registry.md "States of a version"). Whether the key is for the
 * name is looked at first: a refusal reveals nothing of what is there.
 */
export async function changeState(
  { path, query, body, headers }: HttpRequest,
  { records, states, access }: StateChanging,
): Promise<Reply> {
  const ref = parseStatePath(path);
  if (ref === null) throw notServed(path);
  parseQuery(query, []);
  const caller = access.callerOf(headers);
  if (!caller.state.allows(ref.name)) throw forbidden(caller, `change the state of ${ref.name}`);
  const reading = decodeStateChange(decodeStrictUtf8(body) ?? '');
  if (reading.kind === 'unusable') throw badInput('invalid state', reading.reason);
  if (!(await records.read(ref)).some(({ version }) => version === ref.version)) throw notFound(spell(ref), null);
  await states.change(ref, reading.change, caller.id);
  return { kind: 'json', status: 200, text: encodeStateReceipt(ref.name, ref.version, reading.change) };
}
