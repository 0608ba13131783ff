import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { firstExcess } from '@svc/artifacts/grants/spawn-envelope.ts';
import { createArtifactRegistry } from '../src/artifact-registry.ts';
import type { CapsuleRegistry } from '../src/capsule-registry.ts';
import { archiveBytes, temporaryDirectory, toolFiles } from '../../artifacts/test/store/artifacts.ts';
import { capsuleBytes, capsuleText, platform, publish, publishAt, publishCapsule } from './published.ts';

function registryAt(root: string, env: Readonly<Record<string, string>> = {}): CapsuleRegistry {
  return createArtifactRegistry({ root, platform, env, now: () => Date.now() });
}

/** The hash of what is found, or why nothing is. */
async function answer(registry: CapsuleRegistry, name = 'child', version = '1.0.0'): Promise<string> {
  const resolution = await registry.resolve(name, version);
  return resolution.kind === 'resolved' ? resolution.capsule.sha256 : resolution.reason;
}

describe('the referee’s registry', () => {
  it('finds a capsule by exact version, with the hash of its bytes and all that its manifest declares [D2-CORE-05] [D2-REG-05]', async () => {
    const root = temporaryDirectory();
    const bytes = await capsuleBytes(
      capsuleText(`
artifacts: [{ name: editor, version: 1.0.0, capabilities: { state: {} } }]
capabilities:
  containment: scoped
  network: { allow: [A.example, "https://b.example:443"], unix_sockets: true }
  peer_fetch: { allow: ["c.example:8080"] }
  shell: { allow: [git] }
  spawn: { allow: [helper, other] }
  env: { allow: [LANG] }
  filesystem: { scope: out/, workdir_exec: true, host_read: [/opt/sdk] }
  project: { path: ., write: true, mask: [keys] }`),
    );
    await publish(root, bytes);
    expect(await registryAt(root).resolve('child', '1.0.0')).toEqual({
      kind: 'resolved',
      capsule: {
        name: 'child',
        version: '1.0.0',
        sha256: createHash('sha256').update(bytes).digest('hex'),
        envelope: {
          networkAllow: [
            { scheme: null, host: 'a.example', port: null },
            { scheme: 'https', host: 'b.example', port: 443 },
          ],
          unixSockets: true,
          bindings: [],
          credentials: [],
          peerFetchAllow: [{ scheme: null, host: 'c.example', port: 8080 }],
          shellAllow: ['git'],
          spawnAllow: ['helper', 'other'],
          envAllow: ['LANG'],
          hostRead: ['/opt/sdk'],
          project: 'write',
          artifactRuns: [],
          remoteServers: [],
          filesystemScope: 'out',
          workdirExec: true,
          stateStores: ['child'],
          containmentFloor: 'scoped',
        },
      },
    });
  });

  it('keeps versions apart', async () => {
    const root = temporaryDirectory();
    const first = await publishCapsule(root, capsuleText());
    const second = await publishCapsule(root, capsuleText().replace('1.0.0', '1.0.1'), { version: '1.0.1' });
    const registry = registryAt(root);
    expect(await answer(registry, 'child', '1.0.0')).toBe(first);
    expect(await answer(registry, 'child', '1.0.1')).toBe(second);
    expect(await answer(registry, 'child', '1.0')).toBe('child@1.0 is not in the registry');
  });

  it('takes the variant for its platform before the generic one, and no other', async () => {
    const root = temporaryDirectory();
    const registry = registryAt(root);
    await publishCapsule(root, capsuleText('description: other'), { platform: 'linux-aarch64' });
    expect(await answer(registry)).toBe('child@1.0.0 is not in the registry');
    const generic = await publishCapsule(root, capsuleText());
    expect(await answer(registry)).toBe(generic);
    const own = await publishCapsule(root, capsuleText('description: own'), { platform });
    expect(await answer(registry)).toBe(own);
  });

  it('writes nothing, also where there is no directory [D2-CORE-04]', async () => {
    const root = join(temporaryDirectory(), 'none');
    expect(await answer(registryAt(root))).toBe('child@1.0.0 is not in the registry');
    expect(existsSync(root)).toBe(false);

    await publishCapsule(root, capsuleText());
    const before = changesBelow(root);
    await answer(registryAt(root));
    expect(changesBelow(root)).toEqual(before);
  });

  it.each(['latest', 'stable', 'edge'])('resolves %s to nothing, whatever lies there', async (version) => {
    const root = temporaryDirectory();
    const sha256 = await publishCapsule(root, capsuleText());
    const manifest = capsuleText().replace('1.0.0', version);
    await publishAt(join(root, 'child', version, `child-${version}.zip`), await capsuleBytes(manifest));
    expect(await answer(registryAt(root), 'child', version)).toBe(
      `version "${version}" of child is a reserved version, name an exact one`,
    );
    expect(await answer(registryAt(root))).toBe(sha256);
  });

  it.each([
    ['../outside', '1.0.0', '"../outside" is not the name of a capsule'],
    ['..', '1.0.0', '".." is not the name of a capsule'],
    ['.', '1.0.0', '"." is not the name of a capsule'],
    ['', '1.0.0', '"" is not the name of a capsule'],
    ['/etc', '1.0.0', '"/etc" is not the name of a capsule'],
    ['a/../outside', '1.0.0', '"a/../outside" is not the name of a capsule'],
    ['child\0', '1.0.0', '"child\\u{0}" is not the name of a capsule'],
    ['Child', '1.0.0', '"Child" is not the name of a capsule'],
    ['child@1.0.0', '', '"child@1.0.0" is not the name of a capsule'],
    [
      'child',
      '../../outside/1.0.0',
      'version "../../outside/1.0.0" of child must be letters, digits, dots, plus signs and hyphens',
    ],
    ['child', '1..0', 'version "1..0" of child must not contain ".."'],
    ['child', '..', 'version ".." of child must be letters, digits, dots, plus signs and hyphens'],
    ['child', '', 'version "" of child must be letters, digits, dots, plus signs and hyphens'],
    ['child', '1.0.0\n', 'version "1.0.0\\u{a}" of child must be letters, digits, dots, plus signs and hyphens'],
  ])('never leaves its root for %j in version %j', async (name, version, reason) => {
    const root = join(temporaryDirectory(), 'registry');
    await publishCapsule(root, capsuleText());
    const outside = await capsuleBytes(capsuleText('', 'outside'));
    for (const path of ['outside/1.0.0/outside-1.0.0.zip', 'outside/outside-1.0.0.zip']) {
      await publishAt(join(dirname(root), path), outside);
    }
    expect(await answer(registryAt(root), name, version)).toBe(reason);
  });

  it('has no capsule in an artifact without an inference block', async () => {
    const root = temporaryDirectory();
    await publish(root, await archiveBytes(toolFiles('child')));
    expect(await answer(registryAt(root))).toBe('child@1.0.0 cannot be resolved: it is not a capsule');
  });

  it.each([
    ['another name', capsuleText('', 'other')],
    ['another version', capsuleText().replace('1.0.0', '2.0.0')],
  ])('has no capsule where the manifest says %s', async (_, manifest) => {
    const root = temporaryDirectory();
    await publishCapsule(root, manifest);
    expect(await answer(registryAt(root))).toBe(
      'child@1.0.0 cannot be resolved: its svc.yaml does not say that it is child@1.0.0',
    );
  });

  it('names all that is wrong with a manifest, up to three problems', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, capsuleText('capabilities: { containment: strict, shell: { allow: [a/b] } }'));
    expect(await answer(registryAt(root))).toBe(
      'child@1.0.0 cannot be resolved: capabilities.containment must be one of advisory, scoped, sealed, not "strict"; ' +
        'capabilities.shell.allow[0] must be a bare command name, not "a/b"',
    );
    await publishCapsule(root, capsuleText('capabilities: { shell: { allow: [a/a, a/b, a/c, a/d, a/e] } }'));
    expect(await answer(registryAt(root))).toContain(
      'allow[2] must be a bare command name, not "a/c"; and 2 more problems',
    );
  });

  it('says nothing of what only warns', async () => {
    const root = temporaryDirectory();
    const sha256 = await publishCapsule(root, capsuleText('unknown: 1\ncapabilities: { spawn: { allow: [helper] } }'));
    expect(await answer(registryAt(root))).toBe(sha256);
    await publishCapsule(root, capsuleText('unknown: 1\ncapabilities: { containment: strict }'));
    expect(await answer(registryAt(root))).toBe(
      'child@1.0.0 cannot be resolved: capabilities.containment must be one of advisory, scoped, sealed, not "strict"',
    );
  });
});

describe('references of a manifest', () => {
  const manifest = `name: child
version: 1.0.0
inference:
  model: m
  endpoint: \${PROVIDER}
  api_key: \${PROVIDER_KEY}
  driver: { artifact: svc-driver-openai }
capabilities: { shell: { allow: ["\${SHELL_NAME}"] } }
`;
  const env = { PROVIDER: 'https://provider.example', SHELL_NAME: 'bash' };

  it('get their values from the given environment', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, manifest);
    const resolution = await registryAt(root, env).resolve('child', '1.0.0');
    expect(resolution.kind === 'resolved' ? resolution.capsule.envelope.shellAllow : resolution).toEqual(['bash']);
  });

  it.each([
    ['SHELL_NAME', 'capabilities.shell.allow[0] refers to the variable SHELL_NAME, which is not set'],
    ['PROVIDER', 'inference.endpoint refers to the variable PROVIDER, which is not set'],
  ] as const)(
    'make it unresolvable without %s, and the reason names variable and key [D2-OPT-20]',
    async (unset, problem) => {
      const root = temporaryDirectory();
      await publishCapsule(root, manifest);
      const { [unset]: _, ...others } = env;
      expect(await answer(registryAt(root, others))).toBe(`child@1.0.0 cannot be resolved: ${problem}`);
    },
  );

  it('stay as they are in inference.api_key, set or not [D2-OPT-21]', async () => {
    const root = temporaryDirectory();
    const sha256 = await publishCapsule(root, manifest);
    expect(await answer(registryAt(root, env))).toBe(sha256);
    const resolution = await registryAt(root, { ...env, PROVIDER_KEY: 'sk-hidden' }).resolve('child', '1.0.0');
    expect(JSON.stringify([resolution, ...referencesIn(resolution)])).not.toContain('sk-hidden');
  });

  it('stand for their values where an envelope is compared', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, manifest);
    const child = await registryAt(root, env).resolve('child', '1.0.0');
    await publishCapsule(root, capsuleText('', 'parent'), { name: 'parent' });
    const parent = await registryAt(root).resolve('parent', '1.0.0');
    if (child.kind === 'unresolvable' || parent.kind === 'unresolvable') throw new Error('both are published');
    expect(firstExcess(parent.capsule.envelope, child.capsule.envelope)?.message).toBe(
      'capabilities.shell.allow: the child declares "${SHELL_NAME}", which the parent does not',
    );
  });

  it('never show the value in a reason', async () => {
    const root = temporaryDirectory();
    await publishCapsule(root, manifest.replace('name: child', 'name: ${NAME}'));
    const hidden = { ...env, NAME: 'hunter2', SHELL_NAME: 'hunter/3' };
    expect(await answer(registryAt(root, hidden))).not.toContain('hunter');
    expect(await answer(registryAt(root, { ...hidden, SHELL_NAME: 'bash' }))).toBe(
      'child@1.0.0 cannot be resolved: its svc.yaml does not say that it is child@1.0.0',
    );
  });
});

function referencesIn(resolution: Awaited<ReturnType<CapsuleRegistry['resolve']>>): readonly string[] {
  return resolution.kind === 'resolved' ? [...(resolution.capsule.envelope.references ?? [])].flat() : [];
}

/** The file times of everything below a directory, and its own. */
function changesBelow(root: string): readonly string[] {
  return ['.', ...readdirSync(root, { recursive: true, encoding: 'utf8' })].map(
    (path) => `${path} ${lstatSync(join(root, path), { bigint: true }).ctimeNs}`,
  );
}
