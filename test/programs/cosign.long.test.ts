import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { acme, stranger } from '../../packages/artifacts/test/trust/trust-kit.ts';
import { ownGoProgram, slowGoProgram } from '../support/go-program.ts';
import { type OciServer, started } from '../support/oci-server.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const program = ownGoProgram(fileURLToPath(new URL('../support/referring-registry', import.meta.url)));
const cosign = slowGoProgram('github.com/sigstore/cosign/v3/cmd/cosign', 'v3.1.3');
const missing = program.missing ?? cosign.missing;

/** Keys alone: no log, no authority, no time of others. */
const offline = ['--allow-http-registry', '--key'];
const withoutLog = ['--insecure-ignore-tlog'];

describe.skipIf(missing !== null)(`cosign 3.1.3 (skipped: ${missing})`, () => {
  let workspace: Workspace;
  let registry: OciServer;
  let artifact = '';

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
      'acme.pub': acme.publicPem,
      'stranger.key': stranger.privatePem,
      'stranger.pub': stranger.publicPem,
    });
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    registry = await started(program.path ?? '', []);
    artifact = `${registry.host}/acme/style:1.0.0`;
  });

  afterEach(() => {
    registry.stop();
    workspace.remove();
  });

  async function run(...args: readonly string[]): Promise<SvcEnd> {
    return await svc(workspace, args, { env: { SVC_REGISTRY_URL: `oci://${registry.host}/acme` } });
  }

  async function done(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...args);
    if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async function ask(...args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const env = { PATH: process.env['PATH'] ?? '', HOME: workspace.home, COSIGN_PASSWORD: 'any' };
    return await promisify(execFile)(cosign.path ?? '', args, { cwd: workspace.folder, env, timeout: 60_000 });
  }

  it('verifies what svc publishes with a signature, and finds none by another key', async () => {
    await done('publish', 'style', '--sign', '--key', 'acme.key');
    const { stdout } = await ask('verify', ...offline, 'acme.pub', ...withoutLog, artifact);
    expect(JSON.parse(stdout)).toMatchObject([
      {
        critical: { image: { 'docker-manifest-digest': expect.stringMatching(/^sha256:[0-9a-f]{64}$/) } },
      },
    ]);
    await expect(ask('verify', ...offline, 'stranger.pub', ...withoutLog, artifact)).rejects.toThrow(
      'no matching attestations',
    );
  });

  it('signs what svc publishes, and svc takes that for the archive', async () => {
    const rule = '{ names: ["style"], signed_by: { key: acme } }';
    writeFileSync(join(workspace.home, '.svc', 'acme.pub'), acme.publicPem);
    writeFileSync(
      join(workspace.home, '.svc', 'config.yaml'),
      `trust: { keys: { acme: ./acme.pub }, rules: [${rule}] }\n`,
    );
    await done('publish', 'style');
    expect(await run('install')).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-REG-011]') });
    await ask('signing-config', 'create', '--out', 'no-services.json');
    const sign = async (name: string): Promise<void> => {
      await ask('import-key-pair', '--key', `${name}.key`, '--output-key-prefix', `imported-${name}`);
      await ask('sign', '--yes', '--signing-config', 'no-services.json', ...offline, `imported-${name}.key`, artifact);
    };
    await sign('stranger');
    expect(await run('install')).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-REG-012]') });
    await sign('acme');
    await done('install');
    const [locked] = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).artifacts;
    expect(locked).toMatchObject({ name: 'style', signed_by: { key: `sha256:${acme.fingerprint}` } });
    expect(await done('verify')).toContain('signed');
  });
});
