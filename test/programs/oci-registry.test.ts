import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { acme } from '../../packages/artifacts/test/trust/trust-kit.ts';
import { whyMissing } from '../support/debian-program.ts';
import { dockerRegistry, type OciServer } from '../support/oci-server.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const missing = whyMissing('docker-registry') ?? whyMissing('skopeo') ?? whyMissing('htpasswd', 'apache2-utils');

describe.skipIf(missing !== null)(`a registry of Debian's docker-registry (skipped without it: ${missing})`, () => {
  let workspace: Workspace;
  let registry: OciServer | null = null;
  let host = '';

  beforeEach(() => {
    workspace = makeWorkspace({
      'svc.yaml': `name: writer
version: 1.0.0
artifacts: [{ name: style, version: 1.0.0, runtime: skill }]
inference: { model: m, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }
`,
      'script.yaml': '- { content: [{ type: text, text: Done. }], stop_reason: end_turn }\n',
      'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\ndescription: How to write.\n',
      'style/skill.md': 'Be brief.\n',
    });
  });

  afterEach(() => {
    registry?.stop();
    workspace.remove();
  });

  async function start(auth = ''): Promise<void> {
    registry = await dockerRegistry(workspace, { auth });
    ({ host } = registry);
  }

  async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<SvcEnd> {
    return await svc(workspace, args, { env });
  }

  async function done(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> {
    const { code, stdout, stderr } = await run(args, env);
    if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  function copy(from: string, to: string): void {
    const how = ['copy', '--src-tls-verify=false', '--dest-tls-verify=false', '--preserve-digests'];
    execFileSync('skopeo', [...how, `docker://${host}/${from}`, `docker://${host}/${to}`], { stdio: 'pipe' });
  }

  /** Returns the digest of the document under a tag, as another program counts it. */
  function digestOf(reference: string): string {
    const raw = execFileSync('skopeo', ['inspect', '--tls-verify=false', '--raw', `docker://${host}/${reference}`]);
    return execFileSync('sha256sum', { input: raw }).toString().slice(0, 64);
  }

  it('takes an artifact and gives it back, by name, by tag, by digest and after it was copied elsewhere', async () => {
    await start();
    const [, sha256 = ''] = (await done(['publish', 'style', '--registry', `oci://${host}/acme`])).trim().split(' ');
    expect(await run(['publish', 'style', '--registry', `oci://${host}/acme`])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('E-REG-003'),
    });
    const byName = await done(['install', '--json'], { SVC_REGISTRY_URL: `oci://${host}/acme` });
    expect(JSON.parse(byName.split('\n')[0] ?? '')).toMatchObject({
      name: 'style',
      origin: `oci://${host}/acme`,
      sha256,
    });
    const lock = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8'));
    const digest = digestOf('acme/style:1.0.0');
    const from = `oci://${host}/acme/style@sha256:${digest}`;
    expect(lock.artifacts[0]).toEqual({ name: 'style', version: '1.0.0', sha256, from });
    await done(['run', '--task', 'Go.', '--offline']);

    copy('acme/style:1.0.0', 'mirror/style:1.0.0');
    expect(digestOf('mirror/style:1.0.0')).toBe(digest);
    for (const reference of [
      `acme/style:1.0.0`,
      `mirror/style@sha256:${digest}`,
      `mirror/style:1.0.0@sha256:${digest}`,
    ]) {
      const installed = await done(['install', '--global', '--json', `oci://${host}/${reference}`]);
      expect(JSON.parse(installed)).toMatchObject({ name: 'style', version: '1.0.0', sha256 });
    }
    const nowhere = await run(['install', '--global', `oci://${host}/acme/style:2.0.0`]);
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('E-REG-001') });
  }, 120_000);

  it('keeps the signatures of what is published, and gives them to who wants one', async () => {
    await start();
    workspace.write('acme.key', acme.privatePem);
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    writeFileSync(join(workspace.home, '.svc', 'acme.pub'), acme.publicPem);
    const rule = '{ names: ["*"], signed_by: { key: acme } }';
    const config = `trust: { keys: { acme: ./acme.pub }, rules: [${rule}] }\n`;
    writeFileSync(join(workspace.home, '.svc', 'config.yaml'), config);
    await done(['publish', 'style', '--registry', `oci://${host}/signed`, '--sign', '--key', 'acme.key']);
    workspace.write('style/skill.md', 'Be long.\n');
    await done(['publish', 'style', '--registry', `oci://${host}/unsigned`]);
    const installed = await done(['install', '--json'], { SVC_REGISTRY_URL: `oci://${host}/signed` });
    expect(JSON.parse(installed.split('\n')[0] ?? '')).toMatchObject({ name: 'style' });
    const lock = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8'));
    expect(lock.artifacts[0]).toMatchObject({ name: 'style', signed_by: { key: `sha256:${acme.fingerprint}` } });
    await done(['install', '--global', `oci://${host}/signed/style:1.0.0`]);
    expect(await run(['install', '--global', `oci://${host}/unsigned/style:1.0.0`])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('E-REG-011'),
    });
  }, 120_000);

  it('asks for the login that docker keeps, in its file or with a helper', async () => {
    const passwords = join(workspace.folder, 'passwords');
    workspace.write('passwords', execFileSync('htpasswd', ['-Bbn', 'ann', 'secret-of-ann']).toString());
    await start(`auth: { htpasswd: { realm: registry, path: ${passwords} } }\n`);
    const publish = ['publish', 'style', '--registry', `oci://${host}/acme`];
    const refused = await run(publish);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`docker login ${host}`) });

    const docker = join(workspace.home, '.docker');
    mkdirSync(docker);
    const auth = Buffer.from('ann:secret-of-ann').toString('base64');
    writeFileSync(join(docker, 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }));
    await done(publish);

    writeFileSync(join(docker, 'config.json'), JSON.stringify({ credHelpers: { [host]: 'safe' } }));
    const bin = join(workspace.home, 'bin');
    mkdirSync(bin);
    const helper = join(bin, 'docker-credential-safe');
    writeFileSync(
      helper,
      `#!/bin/sh\nread server\n[ "$1 $server" = "get ${host}" ] && echo '{"Username":"ann","Secret":"secret-of-ann"}'\n`,
    );
    chmodSync(helper, 0o755);
    const install = ['install', '--global', `oci://${host}/acme/style:1.0.0`];
    await done(install, { PATH: `${bin}:${process.env['PATH']}` });
    expect(await run(install)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('docker-credential-safe, which keeps the login'),
    });
  }, 120_000);

  it('stays the place of an artifact that svc add takes from it, whatever registry is in use', async () => {
    await start();
    await done(['publish', 'style', '--registry', `oci://${host}/acme`]);
    workspace.write(
      'svc.yaml',
      readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8').replace(/^artifacts: .*$/m, 'artifacts: []'),
    );
    await done(['add', `oci://${host}/acme/style:1.0.0`]);
    const row = `{ name: style, version: 1.0.0, runtime: skill, from: "oci://${host}/acme/style" }`;
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toContain(`artifacts: [${row}]\n`);
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    await done(['install', '--frozen'], { SVC_REGISTRY_URL: 'local' });
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    expect((await run(['run', '--task', 'Begin.'])).code).toBe(0);
    const wrong = await run(['add', `oci://${host}/acme/style:2.0.0`]);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('error[E-REG-001]')]);
  });

  it('must give the document in svc.lock when a tag is moved, and --frozen takes that document all the same', async () => {
    await start();
    const env = { SVC_REGISTRY_URL: `oci://${host}/acme` };
    await done(['publish', 'style', '--registry', `oci://${host}/acme`]);
    await done(['install'], env);
    const lock = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    workspace.write('style/skill.md', 'Be long.\n');
    await done(['publish', 'style', '--registry', `oci://${host}/evil`]);
    copy('evil/style:1.0.0', 'acme/style:1.0.0');
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    for (const command of [['install'], ['run', '--task', 'Go.']]) {
      expect(await run(command, env)).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-REG-005]') });
    }
    await done(['install', '--frozen'], env);
    expect(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).toBe(lock);
    await done(['run', '--task', 'Go.', '--offline']);
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    const nowhere = await run(['install', '--frozen', '--registry', 'local']);
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('no registry was asked') });
    await done(['install', '--frozen']);
  }, 120_000);

  it('has a mirror that is asked first, and not believed', async () => {
    await start();
    await done(['publish', 'style', '--registry', `oci://${host}/acme`]);
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    const source = `{ name: hub, type: oci, url: "oci://${host}/acme", mirror: "oci://${host}/copies" }`;
    const config = `registry: { default: hub, sources: [${source}] }\n`;
    writeFileSync(join(workspace.home, '.svc', 'config.yaml'), config);
    const without = await run(['install']);
    expect(without).toMatchObject({ code: 0, stderr: expect.stringContaining('warning[W-REG-008]') });
    expect(without.stderr).toContain(`the mirror oci://${host}/copies/style is not used for oci://${host}/acme/style`);
    copy('acme/style:1.0.0', 'copies/style:any');
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    expect(await run(['install'])).toMatchObject({ code: 0, stderr: '' });
  }, 120_000);
});
