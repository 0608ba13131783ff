import { type SpawnerHandle, decodeSpawnerHandle } from '@svc/protocol/spawner-handle.ts';
import { Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import type { Environment } from '@svc/kit/environment.ts';

interface DelegationQuestion {
  readonly spawnAllow: readonly string[];
  /** The process environment over the `.env` file. */
  readonly env: Environment;
  /** The process environment alone. */
  readonly processEnv: Readonly<Record<string, string | undefined>>;
}

/** How a launch stands to delegation, as its environment tells. */
export interface LaunchDelegation {
  /** Null when it is not set, which only a capsule that delegates minds. */
  readonly refereeUrl: string | null;
  /** Null for a capsule that nobody delegated to. */
  readonly spawner: SpawnerHandle | null;
  readonly refusals: readonly Diagnostic[];
}

/** Reads `SVC_REFEREE_URL` and `SVC_SPAWNER`. Refusals: `E-RUN-019`, `E-RUN-020` (D2 "Other codes"). */
export function delegationOfLaunch({ spawnAllow, env, processEnv }: DelegationQuestion): LaunchDelegation {
  const refusals: Diagnostic[] = [];
  let refereeUrl: string | null = null;
  let spawner: SpawnerHandle | null = null;
  const unreadable = diagnosticOf(() => {
    spawner = parseSpawnerHandle(processEnv['SVC_SPAWNER']);
  });
  if (unreadable !== null) refusals.push(unreadable);
  const unknown = diagnosticOf(() => {
    refereeUrl = refereeAddress(env['SVC_REFEREE_URL']);
  });
  if (unknown !== null && spawnAllow.length > 0) refusals.push(unknown);
  return { refereeUrl, spawner, refusals };
}

/** The base URL of the referee. Throws `E-RUN-019` for one that is not set, blank or no such address. */
export function refereeAddress(value: string | undefined): string {
  const url = value?.trim() ?? '';
  if (url === '') throw noReferee('SVC_REFEREE_URL is not set');
  const fault = endpointFault(url) ?? (/[?#]/.test(url) ? 'must not have a query or fragment' : undefined);
  if (fault !== undefined) throw noReferee(`SVC_REFEREE_URL ${fault}`);
  return url;
}

function noReferee(problem: string): Diagnostic {
  return new Diagnostic('E-RUN-019', `capabilities.spawn.allow needs a referee, and ${problem}`, {
    hint: 'start svc-referee and set SVC_REFEREE_URL to the address it prints, such as http://127.0.0.1:7700',
  });
}

/**
 * The handle of `SVC_SPAWNER`; null when the variable is not set, since nobody delegated to this capsule. Throws `E-RUN-020` for anything
 * that cannot be read as a handle.
 */
function parseSpawnerHandle(text: string | undefined): SpawnerHandle | null {
  if (text === undefined) return null;
  const decoded = decodeSpawnerHandle(text);
  if (decoded.kind === 'handle') return decoded.handle;
  throw new Diagnostic('E-RUN-020', `SVC_SPAWNER cannot be read as a spawner handle: ${decoded.problem}`, {
    hint: 'a parent capsule sets it for its child; unset it to run this capsule by hand',
  });
}
