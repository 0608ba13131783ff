import type { Enforcement } from './launch/compose-plan.ts';
import { egressPort } from './service-address.ts';
import type { ProcessGrants } from './launch/process-grants.ts';

const proxyNames = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];

/**
 * What a process must know of its network. Where the class enforces the allow-list, the proxy is the only way out (ADR 0032).
 * Where it does not, names are looked up over TCP, since no class lets datagrams through.
 */
export function networkVariables(
  { networkAllow }: Pick<ProcessGrants, 'networkAllow'>,
  enforcement: Enforcement['class'],
): Readonly<Record<string, string>> {
  if (networkAllow.length === 0) return {};
  if (enforcement !== 'sealed') return { RES_OPTIONS: 'use-vc' };
  const proxy = `http://127.0.0.1:${egressPort}`;
  return Object.fromEntries(proxyNames.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, proxy]));
}
