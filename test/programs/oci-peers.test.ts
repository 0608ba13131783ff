import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { acme } from '../../packages/artifacts/test/trust/trust-kit.ts';
import { goProgram, ownGoProgram } from '../support/go-program.ts';
import { type OciServer, started } from '../support/oci-server.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const program = ownGoProgram(fileURLToPath(new URL('../support/referring-registry', import.meta.url)));
const oras = goProgram('oras.land/oras/cmd/oras', 'v1.3.6');

describe.skipIf(program.missing !== null)(`a registry with the API for referrers (skipped: ${program.missing})`, () => {
  let workspace: Workspace;
  let registry: OciServer | null = null;
  let host = '';

  beforeEach(async () => {
    workspace = makeWorkspace({
      'svc.yaml': `name: writer
version: 1.0.0
artifacts: [{ name: style, version: 1.0.0, runtime: skill }]
inference: { model: m, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }
`,
      'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\ndescription: How to write.\n',
      'style/skill.md': 'Be brief.\n',
      'acme.key': acme.privatePem,
    });
    registry = await started(program.path ?? '', []);
    ({ host } = registry);
  });

  afterEach(() => {
    registry?.stop();
    workspace.remove();
  });

  async function run(...args: readonly string[]): Promise<SvcEnd> {
    return await svc(workspace, args, { env: { SVC_REGISTRY_URL: `oci://${host}/acme` } });
  }

  async function done(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...args);
    if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  it('keeps an artifact, its signature and its variants, and gives back what svc.lock records', async () => {
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    writeFileSync(join(workspace.home, '.svc', 'acme.pub'), acme.publicPem);
    const rule = '{ names: ["style"], signed_by: { key: acme } }';
    const config = `trust: { keys: { acme: ./acme.pub }, rules: [${rule}] }\n`;
    writeFileSync(join(workspace.home, '.svc', 'config.yaml'), config);

    await done('publish', 'style', '--sign', '--key', 'acme.key', '--platform', 'linux-x86_64');
    await done('install');
    const lock = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    const [locked] = JSON.parse(lock).artifacts;
    expect(locked).toMatchObject({
      name: 'style',
      platform: 'linux-x86_64',
      from: expect.stringMatching(`^oci://${host}/acme/style@sha256:[0-9a-f]{64}$`),
      signed_by: { key: `sha256:${acme.fingerprint}` },
    });

    workspace.write('style/skill.md', 'Be brief on arm.\n');
    await done('publish', 'style', '--sign', '--key', 'acme.key', '--platform', 'linux-aarch64');
    expect(await run('publish', 'style', '--platform', 'linux-aarch64')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error[E-REG-003]'),
    });
    for (const frozen of [['--frozen'], []]) {
      rmSync(join(workspace.folder, '.svc'), { recursive: true });
      await done('install', ...frozen);
      expect(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).toBe(lock);
    }
  }, 120_000);

  it('lists signatures as clients of other projects expect, and keeps no tag in place of its list', async (context) => {
    context.skip(oras.path === null, oras.missing ?? '');
    await done('publish', 'style', '--sign', '--key', 'acme.key');
    const client = (...args: readonly string[]): string =>
      execFileSync(oras.path ?? '', args, { cwd: workspace.folder, encoding: 'utf8', stdio: 'pipe' });
    const found = JSON.parse(client('discover', '--plain-http', '--format', 'json', `${host}/acme/style:1.0.0`));
    // One of the archive, and one of the manifest.
    expect(found.referrers).toHaveLength(2);
    const documents = found.referrers.map(({ reference }: { readonly reference: string }) =>
      JSON.parse(client('manifest', 'fetch', '--plain-http', reference)),
    );
    const expected = {
      artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      subject: { digest: client('resolve', '--plain-http', `${host}/acme/style:1.0.0`).trim() },
    };
    expect(documents).toMatchObject([expected, expected]);
    const tags = client('repo', 'tags', '--plain-http', `${host}/acme/style`).trim().split('\n');
    expect(tags).toEqual(['1.0.0']);
    client('pull', '--plain-http', '--output', 'pulled', `${host}/acme/style:1.0.0`);
    expect(readdirSync(join(workspace.folder, 'pulled'))).toEqual(['style-1.0.0.zip']);
    const pulled = readFileSync(join(workspace.folder, 'pulled', 'style-1.0.0.zip'));
    await done('install');
    const [locked] = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).artifacts;
    expect(createHash('sha256').update(pulled).digest('hex')).toBe(locked.sha256);
  }, 120_000);

  it('takes an archive of many pieces', async () => {
    workspace.write('style/large.txt', 'x'.repeat(20 * 1024 * 1024));
    const [, sha256] = (await done('publish', 'style')).trim().split(' ');
    expect(JSON.parse(await done('install', '--global', '--json', `oci://${host}/acme/style:1.0.0`))).toMatchObject({
      sha256,
    });
  }, 120_000);
});
