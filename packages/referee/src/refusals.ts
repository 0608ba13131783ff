/** The refusals of the referee. */

import { printable, shortened } from '@svc/kit/diagnostics/printable.ts';
import { jsonReply, type Reply, type ReplyHeaders } from '@svc/kit/http/reply.ts';
import { encodeRefusal } from '@svc/protocol/refusal.ts';
import type { ResolvedCapsule } from './capsule-registry.ts';

/** A request that is answered with a status and one sentence (D2 "Errors"). */
export interface Refusal {
  readonly kind: 'refused';
  readonly status: number;
  readonly sentence: string;
}

/** The body of every refusal of the referee: one key with a sentence. */
export function refusalReply({ status, sentence }: Omit<Refusal, 'kind'>, headers?: ReplyHeaders): Reply {
  return jsonReply(encodeRefusal({ error: sentence, message: '' }), status, headers);
}

/**
 * Every failure to show who asks, on every endpoint: a token that is absent, malformed, not ours or of the other kind, a session that is
 * not running, an id that is taken. It is the same bytes each time, so that nobody can distinguish these cases (D2 "Authentication" 4).
 */
export const identityRefusal: Refusal = Object.freeze(
  forbidden(
    'identity not accepted: the token is absent, not valid here or of no running session, or the session id is taken',
  ),
);

export const sessionNotFound: Refusal = { kind: 'refused', status: 404, sentence: 'session not found' };

export function badRequest(sentence: string): Refusal {
  return { kind: 'refused', status: 400, sentence };
}

export function capsuleUnresolvable(reason: string): Refusal {
  return { kind: 'refused', status: 500, sentence: reason };
}

/** Begins as D2 "Statuses" has it. */
export function notInAllowList(name: string): Refusal {
  return forbidden(
    `capsule ${echoed(name)} not in parent's spawn_allow: capabilities.spawn.allow of the asking capsule does not name it`,
  );
}

/** The bound is permanent for the session that asks (D2 "Order of bound refusals"). */
export function noDepthLeft(remaining: number, maxDepth: number): Refusal {
  return forbidden(
    `depth bound reached: ${remaining} of the ${maxDepth} levels of delegation that --max-depth allows are left below this session, ` +
      'for as long as it lives; a capsule that names itself in capabilities.spawn.allow terminates here',
  );
}

export function machineCeilingReached(live: number, ceiling: number): Refusal {
  return forbidden(
    `machine ceiling reached: ${live} capsules are live and --max-live-capsules allows ${ceiling}; ` +
      "it is the ceiling of this host rather than the capsule's own concurrency limit, and waiting may help",
  );
}

export function concurrencyReached(children: number, maxConcurrent: number): Refusal {
  return forbidden(
    `concurrency bound reached: this session holds ${children} live children and --max-concurrent allows ${maxConcurrent}`,
  );
}

/** `excess` names the manifest key and what the child declares there. */
export function beyondEnvelope(name: string, excess: string): Refusal {
  return forbidden(`capsule ${name} declares more than its parent holds: ${excess}`);
}

export function notInSpawnAllow(name: string): Refusal {
  return forbidden(`capsule ${echoed(name)} may not register without an approval: no --spawn-allow names it`);
}

export const approvalExpired: Refusal = forbidden(
  'the approval has expired: it is valid for 60 seconds from its grant',
);

export const approvalRedeemed: Refusal = forbidden(
  'the approval has already been redeemed: it is valid for one registration',
);

type Coordinates = Pick<ResolvedCapsule, 'name' | 'version'>;

export function approvedOtherCapsule(granted: Coordinates, presented: Coordinates): Refusal {
  return forbidden(
    `the approval was granted for ${granted.name}@${granted.version}, not for ${presented.name}@${presented.version}`,
  );
}

type Artifact = Coordinates & Pick<ResolvedCapsule, 'sha256'>;

export function approvedOtherContent(granted: Artifact, resolved: Artifact): Refusal {
  return forbidden(
    `the approval was granted for ${granted.name}@${granted.version} with content hash ${granted.sha256}, ` +
      `which now resolves to ${resolved.sha256}`,
  );
}

/** No capsule has a longer name: what a caller sends beyond that is not sent back. */
const maxName = 100;

function echoed(name: string): string {
  return printable(shortened(name, maxName));
}

function forbidden(sentence: string): Refusal {
  return { kind: 'refused', status: 403, sentence };
}
