import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { hostContainment } from '@svc/sandbox/host-containment.ts';
import { architectures, type SyscallName } from '@svc/sandbox/seccomp/allowed-calls.ts';
import { assemble } from '@svc/sandbox/seccomp/assemble.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { canProbe, hostArchitecture, isUnrestricted, SeccompHost } from '../../packages/sandbox/test/seccomp-host.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

let host: SeccompHost | null = null;

beforeAll(() => {
  if (canProbe) host = new SeccompHost();
});

afterAll(() => host?.close());

/** A filter as another container might put it around `svc`: everything goes but these calls. */
function without(...refused: readonly SyscallName[]): Buffer {
  const architecture = hostArchitecture ?? 'x86_64';
  const names = new Set<string>(refused);
  const rules = [...architectures[architecture].syscalls].map(
    ([name, number]) => [number, names.has(name) ? 'EPERM' : 'allow'] as const,
  );
  return assemble({ architecture, rules: new Map(rules) });
}

const namespaces = ['unshare', 'mount', 'open_tree', 'move_mount', 'pivot_root'] as const;
const landlock = ['landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self'] as const;

describe.skipIf(!canProbe || !isUnrestricted())(
  'a host is tried for what it can do [D1-CLI-20] (skipped without a C compiler, or within a container)',
  () => {
    it.each([
      ['everything', [], 'sealed', 'mountns+pivot_root+landlock+seccomp', 'granted', 'D1-MECH-01'],
      ['no namespaces', namespaces, 'scoped', 'landlock+seccomp', 'denied', 'D1-MECH-02'],
      [
        'no mediation of files either',
        [...namespaces, ...landlock],
        'advisory',
        'seccomp-only',
        'denied',
        'D1-MECH-03',
      ],
      ['namespaces, but no mediation of files', landlock, 'advisory', 'seccomp-only', 'denied', 'D1-MECH-03'],
      ['no filters', ['seccomp'], 'advisory', 'none', 'n/a', 'D1-MECH-04'],
    ] as const)('with %s %j achieves %s with %s, userns grant %s [%s]', (_what, refused, ...expected) => {
      const [achieved, mechanism, usernsGrant] = expected;
      expect(reportOf([...refused])).toMatchObject({ achieved, mechanism, userns_grant: usernsGrant });
    });

    it('again when what is around it has changed', () => {
      const workspace = capsule();
      expect(reportOf([], workspace.folder)).toMatchObject({ achieved: 'sealed' });
      expect(reportOf([...namespaces], workspace.folder)).toMatchObject({ achieved: 'scoped' });
      expect(reportOf([], workspace.folder)).toMatchObject({ achieved: 'sealed' });
    });
  },
);

describe('a host that is no Linux', () => {
  it('contains nothing, and says so [D1-MECH-04, D1-SCOPE-05]', async () => {
    const { achieved, mechanism, usernsGrant, reason } = await hostContainment({
      packageRoot: '/',
      platform: 'darwin',
      architecture: 'arm64',
      uid: 501,
      kernel: '24.0.0',
      cacheDirectory: '/nowhere',
      temporaryDirectory: '/nowhere',
      ceiling: 'sealed',
    });
    expect({ achieved, mechanism, usernsGrant }).toEqual({
      achieved: 'advisory',
      mechanism: 'none',
      usernsGrant: 'n/a',
    });
    expect(reason).toBe('darwin has no sandbox that svc uses');
  });
});

/** What `svc run --explain-scope --json` says of containment where these calls are refused. */
function reportOf(refused: readonly SyscallName[], folder = capsule().folder): unknown {
  if (host === null) throw new Error('the host was not made');
  const filter = host.filterFile(without(...refused));
  const line = host.run(filter, [process.execPath, program, 'run', '--explain-scope', '--json'], folder);
  return (JSON.parse(line) as { containment: unknown }).containment;
}
