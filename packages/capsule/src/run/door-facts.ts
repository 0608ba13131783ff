/** What the doors of a session say of their capsule. */

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type { TokenCallers } from '@svc/doors/callers/callers.ts';
import type { DoorFacts, PushHost } from '@svc/doors/core/door-core.ts';
import type { CardKey } from '@svc/doors/core/card-signature.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { parseDestination } from '@svc/kit/net/network-destination.ts';
import type { BoundListener } from '../launch/bind-listener.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { RunObserver, RunRequest } from '../launch/running-capsule.ts';
import { readCardKey } from './card-key.ts';
import { type DoorsAround, DoorsOutside } from './door-outside.ts';

/** Throws `E-RUN-130` for an invalid address, and warns with `W-SEC-033` where other machines would receive one that is not theirs. */
export function checkPublicUrl(
  { env, bind }: Pick<RunRequest, 'env' | 'bind'>,
  { isPublic }: Pick<BoundListener, 'isPublic'>,
  { onWarning }: Pick<RunObserver, 'onWarning'>,
): void {
  if (publicUrlOf(env) !== null || !isPublic) return;
  const message = `the card of the listener on ${bind} names an address of this machine`;
  onWarning(
    new Diagnostic('W-SEC-033', message, {
      hint: 'set SVC_PUBLIC_URL to the address that clients use, or doors.serve: [] in the manifest',
    }),
  );
}

/**
 * The address that clients of other machines use, from `SVC_PUBLIC_URL`, without a slash at its end; null where that is absent or empty. `E-RUN-130` for
 * one that is no address.
 */
function publicUrlOf(env: Environment): string | null {
  const given = env['SVC_PUBLIC_URL'] ?? '';
  if (given === '') return null;
  const url = URL.canParse(given) ? new URL(given) : null;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isHttp || `${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw new Diagnostic('E-RUN-130', 'SVC_PUBLIC_URL is no http or https address without user, query and fragment', {
      hint: 'set it to what clients use, such as https://agents.example.com/scribe, or unset it',
    });
  }
  return url.href.replace(/\/+$/, '');
}

/** A session as far as its doors describe it. */
export interface DescribedSession {
  readonly launch: PreparedLaunch;
  readonly request: Pick<RunRequest, 'env' | 'home'>;
  /** The `host:port` of the card. */
  readonly url: string;
  readonly callers: Pick<TokenCallers, 'asksForToken'>;
  readonly around: DoorsAround;
  readonly onWarning: (warning: Diagnostic) => void;
}

export function doorFacts({ launch, request, url, callers, around, onWarning }: DescribedSession): DoorFacts {
  const { loaded, artifacts, scope } = launch;
  const cardKey = cardKeyOf(request.home, onWarning);
  return {
    ...(cardKey === null ? {} : { cardKey }),
    outside: new DoorsOutside({
      ...around,
      files: loaded.manifest.exports.files,
      achieved: scope.containment.achieved,
      onWarning,
    }),
    push: (loaded.manifest.doors.push?.allow ?? []).map(pushHost),
    publicUrl: publicUrlOf(request.env) ?? `http://${url}`,
    description: loaded.manifest.description ?? null,
    asksForToken: callers.asksForToken,
    skills: artifacts
      .filter(({ manifest }) => manifest.runtime === 'skill')
      .map(({ manifest: { name, description } }) => ({ name, description })),
  };
}

/** The key could be used when the capsule started. Where it cannot any more, the card is not signed, and the operator hears of it. */
function cardKeyOf(home: string, onWarning: (warning: Diagnostic) => void): CardKey | null {
  try {
    return readCardKey(home);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    onWarning(error);
    return null;
  }
}

type WrittenHost = NonNullable<CapsuleManifest['doors']['push']>['allow'][number];

function pushHost(written: WrittenHost): PushHost {
  const { host, private: isPrivate } = typeof written === 'string' ? { host: written, private: false } : written;
  const reading = parseDestination(host);
  if (reading.kind === 'malformed') throw new Error(`a manifest that was read holds ${host}`);
  return { destination: reading.destination, isPrivate };
}
