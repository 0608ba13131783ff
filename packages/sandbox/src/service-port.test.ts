import { describe, expect, it } from 'vitest';

import { composePlan } from './launch/compose-plan.ts';
import type { Enforcement } from './launch/enforcement.ts';
import { minimalGrants, type ProcessGrants } from './launch/process-grants.ts';
import { filterFor } from './seccomp/assemble.ts';

const sealed: Enforcement = { class: 'sealed', landlockAbi: 6, root: { userNamespace: true, proc: true } };
const scoped: Enforcement = { class: 'scoped', landlockAbi: 6 };
const served: ProcessGrants = { ...minimalGrants, servicePort: 4711 };
const networkAllow = [{ scheme: null, host: 'a.example', port: 443 }] as const;

function reach(grants: ProcessGrants, enforcement: Enforcement): unknown {
  const files = { read: [], execute: [], links: [], problems: [] };
  const plan = composePlan({
    enforcement,
    files,
    grants,
    cgroups: { joins: [], room: null },
    users: null,
    workdir: '/work',
    processesRunning: 0,
  });
  return { network: plan.network, ports: plan.landlock?.ports.map(({ port }) => port) };
}

describe('a process that the runtime serves and that is granted no network', () => {
  it('has the listening socket of its own network, and nothing else to connect to', () => {
    expect(reach(served, sealed)).toEqual({ network: { kind: 'listen', port: 3128 }, ports: [3128] });
    expect(reach(minimalGrants, sealed)).toEqual({ network: { kind: 'loopback' }, ports: [] });
  });

  it('may connect to that port alone where networks are shared', () => {
    expect(reach(served, scoped)).toEqual({ network: { kind: 'none' }, ports: [4711] });
    expect(reach({ ...served, networkAllow }, scoped)).toEqual({ network: { kind: 'none' }, ports: [53, 443, 4711] });
  });

  it.each([sealed, scoped, { class: 'advisory' } as const])(
    'has sockets of TCP and no others in $class',
    (enforcement) => {
      const filter = (grants: ProcessGrants): string => filterFor(grants, enforcement, 'x86_64').toString('hex');
      expect(filter(served)).toBe(filter({ ...minimalGrants, networkAllow }));
      expect(filter(served)).not.toBe(filter(minimalGrants));
      expect(filter({ ...served, unixSockets: true })).toBe(
        filter({ ...minimalGrants, networkAllow, unixSockets: true }),
      );
    },
  );
});
