/** What the doors of a session say of their capsule. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import type { TokenCallers } from '../listener/callers.ts';
import type { DoorFacts } from '../listener/doors/door-core.ts';
import type { BoundListener } from './bind-listener.ts';
import type { PreparedLaunch } from './prepare.ts';
import type { RunObserver, RunRequest } from './running-capsule.ts';

/** Throws `E-RUN-130` for an address that is none, and warns with `W-SEC-033` where other machines would be told one that is not theirs. */
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

interface DescribedSession {
  readonly launch: PreparedLaunch;
  readonly request: Pick<RunRequest, 'env'>;
  readonly url: string;
  readonly callers: Pick<TokenCallers, 'asksForToken'>;
}

/** `advertised` is the `host:port` of the card. */
export function doorFacts({ launch, request, url: advertised, callers }: DescribedSession): DoorFacts {
  const { loaded, artifacts } = launch;
  return {
    publicUrl: publicUrlOf(request.env) ?? `http://${advertised}`,
    description: loaded.manifest.description ?? null,
    asksForToken: callers.asksForToken,
    skills: artifacts
      .filter(({ manifest }) => manifest.runtime === 'skill')
      .map(({ manifest: { name, description } }) => ({ name, description })),
  };
}
