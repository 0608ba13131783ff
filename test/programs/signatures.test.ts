import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeEach, describe, expect, it } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { MemoryOci } from '../../packages/artifacts/test/sources/memory-oci.ts';
import { type Answer, json, StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { archiveBytes, skillFiles } from '../../packages/artifacts/test/store/artifacts.ts';
import { canMount, mountSmall } from '../../packages/artifacts/test/store/small-file-system.ts';
import { identity, issuer, MockAuthority } from '../../packages/artifacts/test/trust/mock-authority.ts';
import { acme, signedBy, stranger } from '../../packages/artifacts/test/trust/trust-kit.ts';
import { key, RegistryKit } from '../../packages/registry/test/registry-kit.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const manifest = 'artifacts:\n  - { name: style, version: 1.0.0, runtime: skill }\n';

let registry: RegistryKit;
let workspace: Workspace;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  registry = await RegistryKit.open();
  workspace = capsule({ manifest, files: taskFile });
  env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key };
  skill('style', 'Be brief.');
  home('acme.pub', acme.publicPem);
  home('stranger.pub', stranger.publicPem);
  workspace.write('acme.key', acme.privatePem);
  workspace.write('stranger.key', stranger.privatePem);
});

function skill(name: string, text: string): void {
  workspace.write(`${name}/svc.yaml`, `name: ${name}\nversion: 1.0.0\nruntime: skill\n`);
  workspace.write(`${name}/skill.md`, text);
}

function home(path: string, text: string): void {
  mkdirSync(join(workspace.home, '.svc'), { recursive: true });
  writeFileSync(join(workspace.home, '.svc', path), text);
}

function trust(rules: string, more = ''): void {
  home('config.yaml', `trust: { keys: { acme: ./acme.pub, stranger: ./stranger.pub }, rules: [${rules}]${more} }\n`);
}

const byAcme = '{ names: ["*"], signed_by: { key: acme } }';

async function run(...args: readonly string[]): Promise<SvcEnd> {
  return await svc(workspace, args, { env });
}

function isThere(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, program)));
}

const signedLine = (pair: { readonly fingerprint: string }): object => ({ key: `sha256:${pair.fingerprint}` });

describe('svc publish --sign', () => {
  it('brings the signature first, then the archive, and a project under a rule gets both', async () => {
    const published = await run('publish', 'style', '--sign', '--key', 'acme.key', '--json');
    expect(published.code).toBe(0);
    expect(JSON.parse(published.stdout)).toMatchObject({ name: 'style', signed_by: signedLine(acme) });
    expect(registry.answered).toEqual(['GET 404', 'POST 201', 'POST 201', 'POST 200', 'GET 200']);
    trust(byAcme);
    expect((await run('install')).code).toBe(0);
    const lock = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')) as { artifacts: object[] };
    expect(lock).toMatchObject({ lock_version: 2 });
    expect(lock.artifacts).toContainEqual(expect.objectContaining({ name: 'style', signed_by: signedLine(acme) }));
    expect((await run('run')).stdout).toContain('status:  ok');
  });

  it('signs nothing for a version and platform that is there already', async () => {
    const sign = ['publish', 'style', '--sign', '--key', 'acme.key'];
    const on = ['--platform', 'linux-x86_64'];
    expect((await run(...sign, ...on)).code).toBe(0);
    registry.answered.length = 0;
    const again = await run(...sign, ...on, '--platform', 'linux-aarch64');
    expect([again.code, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toBe(
      `error[E-REG-003]: style@1.0.0 for linux-aarch64, linux-x86_64 is published already at the registry ${env['SVC_REGISTRY_URL']}\n` +
        'hint: what is published never changes: publish a new version\n',
    );
    expect(registry.answered).toEqual(['GET 200']);
    expect((await run(...sign, '--platform', 'linux-aarch64')).code).toBe(0);
    expect((await run(...sign)).code).toBe(0);
    expect((await run(...sign)).stderr).toContain('error[E-REG-003]: style@1.0.0 is published already');
  });

  it('takes the new signature along for an archive that was built again, and not that of the old one', async () => {
    const sign = ['sign', 'style-1.0.0.zip', '--key', 'acme.key'];
    await run('build', 'style');
    await run(...sign);
    const path = join(workspace.folder, 'style-1.0.0.zip.sigstore.jsonl');
    const old = readFileSync(path, 'utf8');
    skill('style', 'Be long.');
    await run('build', 'style');
    const warned = await run('publish', 'style-1.0.0.zip', '--registry', 'local');
    expect(warned).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^style@1\.0\.0 [0-9a-f]{64}\n$/) as string,
    });
    expect(warned.stderr).toBe(
      `warning[W-REG-009]: 1 signature in ${path} is of other bytes than the archive has now, and is left out; style@1.0.0 has no other\n` +
        `hint: svc sign ${path.replace('.sigstore.jsonl', '')} signs it as it is now, and takes out what is of other bytes\n` +
        `published to ${join(workspace.home, '.svc', 'artifacts')}\n`,
    );
    const signed = await run(...sign);
    expect(signed).toMatchObject({ code: 0, stdout: `${path}\n` });
    expect(signed.stderr).toContain(`took 1 signature that was of other bytes out of ${path}\n`);
    const bundles = readFileSync(path, 'utf8');
    expect([bundles.split('\n').length, bundles.includes(old)]).toEqual([2, false]);
    expect((await run('publish', 'style-1.0.0.zip')).code).toBe(0);
    trust(byAcme);
    expect(await run('install')).toMatchObject({ code: 0, stderr: '' });
  });

  it('publishes nothing that it cannot sign', async () => {
    for (const args of [
      ['--sign', '--key', 'nowhere.key'],
      ['--sign', '--key', join(workspace.home, '.svc', 'acme.pub')],
      ['--sign'],
    ]) {
      const { code, stderr } = await run('publish', 'style', ...args);
      expect([code, /error\[(.*?)\]/.exec(stderr)?.[1]]).toEqual([1, 'E-REG-014']);
    }
    expect(registry.answered).toEqual(['GET 404', 'GET 404', 'GET 404']);
    expect((await run('publish', 'style', '--key', 'acme.key')).stderr).toContain('--key is for --sign');
  });

  it('leaves a signature without an archive where it is cut between the two, and goes on with the next try', async () => {
    const archive = await archiveBytes(skillFiles('style', 'Be brief.'));
    writeFileSync(join(workspace.folder, 'style.zip'), archive);
    let answers = 0;
    const cut = await StandInServer.open((request, response) => {
      // The list of versions and the signature get through, at the archive the line is dead.
      answers += 1;
      if (answers > 2) {
        request.socket.destroy();
        return;
      }
      const body: Buffer[] = [];
      request.on('data', (piece: Buffer) => body.push(piece));
      request.on('end', () => {
        const line = `${request.method} ${request.url}`;
        void registry
          .ask(line, { body: Buffer.concat(body) })
          .then(({ status, body: said }) => response.writeHead(status).end(said));
      });
    });
    const sign = ['publish', 'style.zip', '--sign', '--key', 'acme.key'];
    const first = await svc(workspace, [...sign, '--registry', cut.url], { env });
    expect([first.code, await registry.index()]).toEqual([1, []]);
    expect((await run(...sign)).code).toBe(0);
    expect(await registry.index()).toMatchObject([{ name: 'style' }]);
  });

  it('brings the signature that was asked for also where there are as many beside the archive as there may be', async () => {
    await run('build', 'style');
    const bytes = readFileSync(join(workspace.folder, 'style-1.0.0.zip'));
    const beside = await Promise.all(Array.from({ length: 16 }, () => signedBy(stranger, bytes)));
    workspace.write('style-1.0.0.zip.sigstore.jsonl', `${beside.join('\n')}\n`);
    expect((await run('publish', 'style-1.0.0.zip', '--sign', '--key', 'acme.key')).code).toBe(0);
    trust(byAcme);
    expect(await run('install')).toMatchObject({ code: 0 });
  });

  it.each<[string, (method: string | undefined) => number, string]>([
    ['does not take it once more', (method) => (method === 'POST' ? 503 : 200), 'it did not take them once more: '],
    ['has lost it', (method) => (method === 'GET' ? 404 : 200), 'it does not have 1 of 1'],
  ])('says that the archive is published where a registry then %s', async (_, statusOf, said) => {
    let [hash, isPublished] = ['', false];
    const server = await StandInServer.open((request, response) => {
      const { method, url = '' } = request;
      [, hash = hash] = /\/v1\/signatures\/([0-9a-f]{64})$/.exec(url) ?? [];
      const status = url === '/v1/artifacts/style' ? 404 : isPublished ? statusOf(method) : 201;
      isPublished ||= url.startsWith('/v1/artifacts?');
      request.resume().on('end', () => response.writeHead(status).end(JSON.stringify({ sha256: hash })));
    });
    const sign = ['publish', 'style', '--sign', '--key', 'acme.key', '--registry', server.url];
    const { code, stdout, stderr } = await run(...sign);
    expect([code, stdout.startsWith('style@1.0.0 ')]).toEqual([0, true]);
    expect(stderr).toContain(
      `warning[W-REG-010]: style@1.0.0 is published, and the registry may not keep all of its signatures: ${said}`,
    );
    expect(stderr).toContain(`signed by the key sha256:${acme.fingerprint}`);
  });

  it('warns about a registry that keeps no signatures, and publishes nothing there', async () => {
    const old = await StandInServer.open((_, response) => response.writeHead(404).end('{"error":"not found"}'));
    const { code, stderr } = await run('publish', 'style', '--sign', '--key', 'acme.key', '--registry', old.url);
    expect(code).toBe(1);
    expect(stderr).toContain('keeps no signatures');
    expect(old.lines.map((line) => line.replace(/[0-9a-f]{64}$/, '…'))).toEqual([
      'GET /v1/artifacts/style',
      'POST /v1/signatures/…',
    ]);
  });

  it.each<[string, Answer, string]>([
    ['a page', (_, response) => response.writeHead(200).end('<p>Log in.</p>'), 'does not say for which archive'],
    ['nothing', (_, response) => response.writeHead(201).end(), 'does not say for which archive'],
    ['another hash', json(201, { sha256: 'f'.repeat(64) }), `says ${'f'.repeat(64)}`],
  ])('publishes nothing where the answer to its signature is %s', async (_what, answer, said) => {
    const portal = await StandInServer.open((request, response) => {
      if (request.method === 'POST') answer(request, response);
      else response.writeHead(404).end();
    });
    const sign = ['publish', 'style', '--sign', '--key', 'acme.key', '--registry', portal.url];
    const { code, stdout, stderr } = await run(...sign);
    expect([code, stdout]).toEqual([1, '']);
    const [, hash = ''] = /\/v1\/signatures\/([0-9a-f]{64})$/.exec(portal.lines[1] ?? '') ?? [];
    expect(stderr).toBe(
      `error[E-IO-003]: the registry ${portal.url} does not confirm that it keeps the signature of ${hash}: its answer ${said}\n` +
        'hint: make sure that a registry answers at this address, not a portal or a proxy on the way; nothing was published\n',
    );
    expect(portal.lines).toEqual(['GET /v1/artifacts/style', `POST /v1/signatures/${hash}`]);
  });
});

describe('a CI job', () => {
  it('signs with its identity, by an authority and a log of its own instance', async () => {
    const authority = await MockAuthority.open();
    home('root.json', JSON.stringify(authority.root));
    const place = `, root: ./root.json, authority: "${authority.url}", log: "${authority.url}/"`;
    const rule = `{ names: ["*"], signed_by: { issuer: "${issuer}", identity: "${identity.replace('v1.0.0', '*')}" } }`;
    trust(rule, place);
    env = { ...env, SIGSTORE_ID_TOKEN: authority.token() };
    const { stderr, code } = await run('publish', 'style', '--sign');
    expect([code, stderr]).toEqual([0, `signed by ${identity} (${issuer})\npublished to ${env['SVC_REGISTRY_URL']}\n`]);
    expect((await run('install')).code).toBe(0);
    const rows = (await run('verify', '--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(rows).toContainEqual(
      expect.objectContaining({ name: 'style', state: 'signed', signed_by: { issuer, identity }, code: null }),
    );
    // Every byte of the token is a secret.
    expect(stderr).not.toContain(authority.token().slice(0, 20));
  });

  it('on GitHub gets its token from GitHub, and states which workflow made the archive', async () => {
    const authority = await MockAuthority.open();
    home('root.json', JSON.stringify(authority.root));
    trust(byAcme, `, root: ./root.json, authority: "${authority.url}", log: "${authority.url}"`);
    const github = await StandInServer.open((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ value: authority.token() }));
    });
    env = {
      ...env,
      ACTIONS_ID_TOKEN_REQUEST_URL: `${github.url}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
      GITHUB_ACTIONS: 'true',
      GITHUB_REPOSITORY: 'acme/tools',
      GITHUB_WORKFLOW_REF: 'acme/tools/.github/workflows/release.yml@refs/tags/v1.0.0',
      GITHUB_REF: 'refs/tags/v1.0.0',
      GITHUB_SHA: '0'.repeat(40),
      GITHUB_RUN_ID: '7',
      GITHUB_RUN_ATTEMPT: '1',
    };
    writeFileSync(join(workspace.folder, 'style-1.0.0.zip'), await archiveBytes(skillFiles('style', 'Be brief.')));
    const { code, stdout, stderr } = await run('sign', 'style-1.0.0.zip');
    expect([code, stderr, stdout]).toEqual([
      0,
      `signed by ${identity} (${issuer})\n`,
      `${join(workspace.folder, 'style-1.0.0.zip')}.sigstore.jsonl\n`,
    ]);
    expect(github.asked).toMatchObject([
      { url: '/token?api-version=2.0&audience=sigstore', headers: { authorization: 'Bearer request-token' } },
    ]);
    const bundle = JSON.parse(readFileSync(stdout.trim(), 'utf8')) as { dsseEnvelope: { payload: string } };
    expect(JSON.parse(Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString())).toMatchObject({
      predicateType: 'https://slsa.dev/provenance/v1',
      subject: [{ name: 'style-1.0.0.zip' }],
      predicate: {
        buildDefinition: {
          externalParameters: {
            workflow: {
              ref: 'refs/tags/v1.0.0',
              repository: 'https://github.com/acme/tools',
              path: '.github/workflows/release.yml',
            },
          },
          resolvedDependencies: [
            { uri: 'git+https://github.com/acme/tools@refs/tags/v1.0.0', digest: { gitCommit: '0'.repeat(40) } },
          ],
        },
        runDetails: { metadata: { invocationId: 'https://github.com/acme/tools/actions/runs/7/attempts/1' } },
      },
    });
  });

  it('publishes nothing where what signs is unknown to those who verify, or refuses', async () => {
    const authority = await MockAuthority.open();
    const place = `, authority: "${authority.url}", log: "${authority.url}"`;
    trust(byAcme, place);
    env = { ...env, SIGSTORE_ID_TOKEN: authority.token() };
    const unknown = await run('publish', 'style', '--sign');
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringMatching(/^error\[E-REG-014\]: the signature that .* does not hold/),
    ]);
    const refusing = await StandInServer.open((_, response) => {
      response.writeHead(400).end(JSON.stringify({ message: `no ${authority.token()}` }));
    });
    trust(byAcme, `, authority: "${refusing.url}", log: "${refusing.url}"`);
    const refused = await run('publish', 'style', '--sign');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('refuses to sign (400): no [secret]')]);
    env = { ...env, SIGSTORE_ID_TOKEN: 'no token' };
    expect((await run('publish', 'style', '--sign')).stderr).toContain('E-REG-014');
    expect(registry.answered.filter((line) => line !== 'GET 404')).toEqual([]);
  });
});

describe('a project under a rule', () => {
  it('refuses what nobody signed, another signer signed, and what was changed on its way', async () => {
    await run('publish', 'style');
    trust(byAcme);
    const codes = async (...args: readonly string[]): Promise<unknown[]> => {
      const { code, stderr } = await run(...args);
      return [code, /error\[(.*?)\]/.exec(stderr)?.[1]];
    };
    expect(await codes('install')).toEqual([1, 'E-REG-011']);
    expect(await codes('run')).toEqual([1, 'E-REG-011']);
    const archive = await archiveBytes(skillFiles('style', 'Be brief.'));
    const [{ sha256 }] = JSON.parse(
      `[${(await svc(workspace, ['install', '--json', '--registry', env['SVC_REGISTRY_URL'] ?? ''], { env: { ...env, HOME: join(workspace.home, 'other') } })).stdout.trim().split('\n').join(',')}]`,
    ) as [{ sha256: string }];
    const post = async (bundle: string): Promise<number> =>
      (await registry.ask(`POST /v1/signatures/${sha256}`, { body: Buffer.from(bundle) })).status;
    expect(archive.length).toBeGreaterThan(0);
    const stored = join(workspace.folder, '.svc', 'artifacts', 'style', '1.0.0', 'style-1.0.0.zip');
    expect(await post(await signedBy(stranger, readFileSync(stored)))).toBe(201);
    expect(await codes('install')).toEqual([1, 'E-REG-009']);
    // It has the hash of the archive, and a signature of other bytes.
    const broken = JSON.parse(await signedBy(acme, Buffer.from('x'))) as {
      messageSignature: { messageDigest: { digest: string } };
    };
    broken.messageSignature.messageDigest.digest = Buffer.from(sha256, 'hex').toString('base64');
    expect(await post(JSON.stringify(broken))).toBe(201);
    expect(await codes('install')).toEqual([1, 'E-REG-009']);
    expect(await post(await signedBy(acme, readFileSync(stored)))).toBe(201);
    expect(await codes('install')).toEqual([0, undefined]);
    expect(await codes('run')).toEqual([0, undefined]);
    trust('{ names: ["*"], signed_by: { key: stranger } }');
    expect(await codes('run')).toEqual([1, 'E-REG-009']);
    home('config.yaml', 'trust: { rules: [{ names: "*" }] }\n');
    for (const command of ['run', 'install', 'verify']) expect(await codes(command), command).toEqual([1, 'E-REG-013']);
  });

  it('does not run a folder that the manifest puts in the place of what is signed', async () => {
    trust(byAcme);
    const listed = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', listed.replace('runtime: skill }', 'runtime: skill, source: ./style }'));
    const refused = await run('run');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('error[E-REG-011]: style@1.0.0 has no'),
    ]);
    trust(`{ names: ["style"], signed_by: { key: acme }, mode: warn }, ${byAcme}`);
    const warned = await run('run');
    expect([warned.code, warned.stderr]).toEqual([
      0,
      expect.stringContaining('warning[W-REG-006]: style@1.0.0 has no'),
    ]);
  });

  it('goes on with a warning where the rule only warns', async () => {
    await run('publish', 'style');
    trust('{ names: ["*"], signed_by: { key: acme }, mode: warn }');
    for (const command of ['install', 'run']) {
      const { code, stderr } = await run(command);
      expect([code, stderr.match(/W-REG-006/g)]).toEqual([0, ['W-REG-006']]);
    }
  });

  it('holds a published capsule to the rule too', async () => {
    const own = (name: string): string => readFileSync(join(workspace.folder, name), 'utf8');
    workspace.write(
      'guest/svc.yaml',
      own('svc.yaml')
        .replace(/^.*style.*\n/m, '')
        .replace(/^artifacts:\n(?! )/m, ''),
    );
    workspace.write('guest/script.yaml', own('script.yaml'));
    const { stdout, code, stderr } = await run('publish', 'guest', '--registry', 'local', '--json');
    expect([code, stderr]).toEqual([0, '']);
    const { name, version } = JSON.parse(stdout) as { name: string; version: string };
    trust(`{ names: ["${name}"], signed_by: { key: acme } }`);
    const published = ['run', '--capsule', name, '--capsule-version', version];
    const refused = await run(...published);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('E-REG-011')]);
    trust(`{ names: ["${name}"], signed_by: { key: acme }, mode: warn }`);
    const warned = await run(...published, '--task', 'Say that you are done.');
    expect([warned.code, warned.stderr.match(/W-REG-006/g)]).toEqual([0, ['W-REG-006']]);
  });
});

describe('svc verify', () => {
  it('reports what is signed, damaged, changed and missing, and exits with 1', async () => {
    await run('publish', 'style', '--sign', '--key', 'acme.key');
    trust(byAcme);
    await run('install');
    const good = await run('verify');
    expect([good.code, good.stdout]).toEqual([
      0,
      expect.stringMatching(/style +1\.0\.0 +project +signed +the key acme/),
    ]);
    const stored = join(workspace.folder, '.svc', 'artifacts', 'style', '1.0.0', 'style-1.0.0.zip');
    const bytes = readFileSync(stored);
    const states = async (): Promise<unknown[]> => {
      const { code, stdout } = await run('verify', '--json');
      const rows = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { name: string; state: string; code: string });
      return [code, ...rows.filter(({ name }) => name === 'style').map(({ state, code: told }) => `${state} ${told}`)];
    };
    writeFileSync(`${stored}.sigstore.jsonl`, `${await signedBy(stranger, bytes)}\n`);
    expect(await states()).toEqual([1, 'refused E-REG-009']);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    writeFileSync(stored, bytes);
    expect(await states()).toEqual([1, 'damaged E-ART-006']);
    const hash = `${stored}.sha256`;
    writeFileSync(hash, `${'0'.repeat(64)}  style-1.0.0.zip\n`);
    expect(await states()).toEqual([1, 'changed E-RUN-003']);
    execFileSync('rm', ['-r', join(workspace.folder, '.svc', 'artifacts')]);
    expect(await states()).toEqual([1, 'missing E-REG-001']);
  });

  it('misses nothing that is for other platforms or that the manifest no longer lists, and verifies what is here of that', async () => {
    await run('publish', 'style', '--sign', '--key', 'acme.key');
    skill('old', 'Be long.');
    await run('publish', 'old');
    trust(byAcme);
    await run('install');
    const lock = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')) as {
      artifacts: { name: string }[];
    };
    const style = lock.artifacts.find(({ name }) => name === 'style');
    const one = { ...style, platform: 'aix-ppc64', sha256: '1'.repeat(64) };
    const others = [one, { ...one, platform: 'aix-s390x' }];
    const gone = { name: 'old', version: '1.0.0', sha256: '2'.repeat(64) };
    workspace.write('svc.lock', JSON.stringify({ ...lock, artifacts: [...lock.artifacts, ...others, gone] }));
    const states = async (): Promise<unknown[]> => {
      const { code, stdout } = await run('verify', '--json');
      const rows = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>);
      const own = rows.filter(({ state }) => state !== 'bundled');
      return [code, ...own.map(({ name, platform, state, code: told }) => `${name} ${platform} ${state} ${told}`)];
    };
    expect(await states()).toEqual([
      0,
      'style null signed null',
      'style aix-ppc64 absent null',
      'style aix-s390x absent null',
      'old null absent null',
    ]);
    expect((await run('publish', 'style', '--registry', 'local', '--platform', 'aix-ppc64')).code).toBe(0);
    expect((await run('publish', 'old', '--registry', 'local')).code).toBe(0);
    expect(await states()).toEqual([
      1,
      'style null signed null',
      'style aix-ppc64 changed E-RUN-003',
      'style aix-s390x absent null',
      'old null changed E-RUN-003',
    ]);
  });

  it('with --all looks at the stores without a manifest', async () => {
    await run('publish', 'style', '--registry', 'local');
    const { code, stdout } = await svc(workspace, ['verify', '--all'], { env, cwd: workspace.home });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^style +1\.0\.0 +user +unchecked +-$/m);
    expect(stdout).toMatch(/^svc-tool-editor +1\.0\.0 +bundled +bundled +-$/m);
  });
});

describe('svc key new', () => {
  it('makes a pair that signs, readable by its owner alone, and replaces nothing', async () => {
    const { code, stdout } = await run('key', 'new', 'mine', '--json');
    expect(code).toBe(0);
    const made = JSON.parse(stdout) as { private_key: string; public_key: string; encrypted: boolean };
    expect(made).toMatchObject({ private_key: join(workspace.folder, 'mine.key'), encrypted: false });
    expect(statSync(made.private_key).mode & 0o777).toBe(0o600);
    const before = readFileSync(made.private_key);
    expect((await run('key', 'new', 'mine')).stderr).toContain('E-IO-001');
    expect(readFileSync(made.private_key).equals(before)).toBe(true);
    expect((await run('key', 'new', '../x')).code).not.toBe(0);
  });

  it('makes no private key where one of the two names is taken', async () => {
    for (const taken of ['mine.pub', 'mine.key']) {
      const path = join(workspace.folder, taken);
      workspace.write(taken, 'mine');
      expect(await run('key', 'new', 'mine')).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `error[E-IO-001]: ${path} is there already\nhint: choose another name, or move it away\n`,
      });
      expect(readdirSync(workspace.folder).filter((name) => name.startsWith('mine'))).toEqual([taken]);
      rmSync(path);
    }
  });

  it('leaves no private key where the public one cannot be written (skipped where nothing can be mounted)', async (context) => {
    context.skip(!canMount, 'needs a file system of its own');
    // One name is the folder itself; while a file is made, it has two.
    const full = mountSmall(64, 3);
    const { code, stderr } = await run('key', 'new', 'mine', '--out', full);
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      `error[E-IO-001]: cannot write ${join(full, 'mine.pub')}: no space left on the device`,
    ]);
    expect(readdirSync(full)).toEqual([]);
  });

  it('makes keys and signatures that OpenSSL knows', async (context) => {
    const openssl = (...args: readonly string[]): string =>
      execFileSync('openssl', args, { cwd: workspace.folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    context.skip(!isThere('openssl'), 'needs the program openssl');
    env = { ...env, SVC_KEY_PASSWORD: 'correct horse' };
    await run('key', 'new', 'mine');
    const own = readFileSync(join(workspace.folder, 'mine.pub'), 'utf8');
    expect(openssl('pkey', '-in', 'mine.key', '-passin', 'pass:correct horse', '-pubout')).toBe(own);
    writeFileSync(join(workspace.folder, 'style.zip'), await archiveBytes(skillFiles('style', 'Be brief.')));
    await run('sign', 'style.zip', '--key', 'mine.key');
    const bundle = JSON.parse(readFileSync(join(workspace.folder, 'style.zip.sigstore.jsonl'), 'utf8')) as {
      messageSignature: { signature: string };
    };
    writeFileSync(join(workspace.folder, 'sig'), Buffer.from(bundle.messageSignature.signature, 'base64'));
    const verified = openssl('dgst', '-sha256', '-verify', 'mine.pub', '-signature', 'sig', 'style.zip');
    expect(verified).toBe('Verified OK\n');
  });

  it('encrypts the private key with a password, without which nothing is signed', async () => {
    env = { ...env, SVC_KEY_PASSWORD: 'correct horse' };
    await run('key', 'new', 'mine');
    const key2 = readFileSync(join(workspace.folder, 'mine.key'), 'utf8');
    expect(key2).toMatch(/^-----BEGIN ENCRYPTED PRIVATE KEY-----\n/);
    const sign = ['publish', 'style', '--registry', 'local', '--sign', '--key', 'mine.key'];
    env = { ...env, SVC_KEY_PASSWORD: '' };
    expect((await run(...sign)).stderr).toContain('set SVC_KEY_PASSWORD');
    env = { ...env, SVC_KEY_PASSWORD: 'wrong' };
    expect((await run(...sign)).stderr).toContain('E-REG-014');
    env = { ...env, SVC_KEY_PASSWORD: 'correct horse' };
    const { code, stdout, stderr } = await run(...sign);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain('horse');
  });
});

describe('without a rule', () => {
  const preload = fileURLToPath(new URL('../support/loaded-files.cjs', import.meta.url));
  /** What only the verifier has. */
  const mark = 'TLOG_BODY_ERROR';

  async function verifierLoaded(...args: readonly string[]): Promise<boolean> {
    const list = join(workspace.folder, 'loaded.txt');
    const { code, stderr } = await svc(workspace, args, {
      env: { ...env, NODE_OPTIONS: `--require ${preload}`, LOADED_FILES: list },
    });
    expect([code, stderr.includes('error')]).toEqual([0, false]);
    return readFileSync(list, 'utf8')
      .split('\n')
      .filter((file) => file.endsWith('.cjs') && file.includes('/dist/'))
      .some((file) => readFileSync(file, 'utf8').includes(mark));
  }

  it('neither install nor run loads anything that verifies, and the registry is asked for no signature', async () => {
    await run('publish', 'style', '--sign', '--key', 'acme.key');
    registry.answered.length = 0;
    expect(await verifierLoaded('install')).toBe(false);
    expect(registry.answered).toEqual(['GET 200', 'GET 304']);
    expect(await verifierLoaded('run')).toBe(false);
    trust('{ names: ["other-*"], signed_by: { key: acme } }');
    expect(await verifierLoaded('run')).toBe(false);
    trust(byAcme);
    expect(await verifierLoaded('install')).toBe(true);
    // The pass of the install is enough for each run.
    expect(await verifierLoaded('run')).toBe(false);
  });

  it('a policy in the folder of a project counts for nothing', async () => {
    await run('publish', 'style');
    workspace.write('.svc/config.yaml', `trust: { rules: [${byAcme}] }\n`);
    const { code, stderr } = await run('install');
    expect([code, stderr]).toEqual([0, '']);
    const ran = await run('run');
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('W-SEC-019')]);
  });
});

describe('svc update under a rule', () => {
  const versioned = (version: string): void => {
    workspace.write('style/svc.yaml', `name: style\nversion: ${version}\nruntime: skill\n`);
  };

  it('moves to what the signer of before has signed, and to nobody else until that is accepted', async () => {
    workspace.write(
      'svc.yaml',
      readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8').replace(
        'runtime: skill',
        'runtime: skill, range: ^1.0.0',
      ),
    );
    trust('{ names: ["*"], signed_by: { any: [{ key: acme }, { key: stranger }] } }');
    await run('publish', 'style', '--sign', '--key', 'acme.key');
    expect((await run('install')).code).toBe(0);
    versioned('1.1.0');
    await run('publish', 'style', '--sign', '--key', 'acme.key');
    const moved = await run('update', '--json');
    expect(JSON.parse(moved.stdout)).toMatchObject({ after: '1.1.0', signed_by: signedLine(acme) });
    versioned('1.2.0');
    await run('publish', 'style', '--sign', '--key', 'stranger.key');
    const before = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    const outdated = await run('outdated');
    expect(outdated.stdout).toMatch(/\nstyle +1\.1\.0 +1\.2\.0 +1\.2\.0 +active +- +the key acme\n$/);
    for (const args of [['update'], ['update', '--dry-run'], ['add', 'style@1.2.0'], ['add', 'style', '--dry-run']]) {
      const refused = await run(...args);
      expect([refused.code, refused.stdout, refused.stderr.slice(0, 18)], args.join(' ')).toEqual([
        1,
        '',
        'error[E-REG-009]: ',
      ]);
      expect(refused.stderr).toContain('--accept-signer');
      expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toBe(before);
    }
    const planned = await run('update', '--accept-signer', '--dry-run');
    expect(planned.stdout).toContain('\nstyle 1.1.0 → 1.2.0 (signed by the key stranger)\n');
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toBe(before);
    const accepted = await run('update', '--accept-signer');
    expect(accepted.stdout).toContain('\nstyle 1.1.0 → 1.2.0 (signed by the key stranger)\n');
    const lock = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')) as { artifacts: object[] };
    expect(lock.artifacts).toContainEqual(
      expect.objectContaining({ name: 'style', version: '1.2.0', signed_by: signedLine(stranger) }),
    );
  }, 90_000);
});

describe('svc info and svc list', () => {
  it('say who signed, by every key of the user, and what does not hold', async () => {
    await run('publish', 'style', '--sign', '--key', 'acme.key');
    expect((await run('install')).code).toBe(0);
    const stored = join(workspace.folder, '.svc', 'artifacts', 'style', '1.0.0', 'style-1.0.0.zip');
    const sha256 = sha256Hex(readFileSync(stored));
    const body = Buffer.from(await signedBy(stranger, readFileSync(stored)));
    expect((await registry.ask(`POST /v1/signatures/${sha256}`, { body })).status).toBe(201);
    expect((await run('info', 'style')).stdout).toMatch(/\n1\.0\.0 +active +- +\d+ B +[0-9a-f]{12} +2 +project /);
    const unknown = { signed_by: null, reason: 'it is by no key of trust.keys' };
    const found = async (): Promise<unknown> =>
      (JSON.parse((await run('info', 'style@1.0.0', '--json')).stdout) as { signatures: unknown }).signatures;
    expect(await found()).toEqual([unknown, unknown]);
    home('config.yaml', 'trust: { keys: { acme: ./acme.pub } }\n');
    expect(await found()).toEqual(expect.arrayContaining([unknown, { signed_by: signedLine(acme), reason: null }]));
    const shown = (await run('info', 'style@1.0.0')).stdout;
    expect(shown).toMatch(/^signed by {4}the key acme$/m);
    expect(shown).toMatch(/^signature {4}not known to hold: it is by no key of trust\.keys$/m);
    expect((await run('list')).stdout).not.toContain('SIGNED BY');
    trust(byAcme);
    expect((await run('install')).code).toBe(0);
    expect((await run('list')).stdout).toMatch(/ SIGNED BY\n(.*\n)*style .* the key acme\n/);
    expect((await run('list', '--all')).stdout).toMatch(/\nstyle .* 2, not checked\n/);
    const listed = (await run('list', '--json')).stdout.split('\n').filter((line) => line.includes('"style"'));
    expect(listed.map((line) => JSON.parse(line) as object)).toMatchObject([
      { signatures: 2, signed_by: signedLine(acme) },
    ]);
  }, 60_000);

  it('show what a rule refuses, wherever the version and its signature are', async () => {
    await run('publish', 'style', '--sign', '--key', 'acme.key');
    trust('{ names: ["*"], signed_by: { key: stranger } }');
    expect((await run('install')).stderr).toContain('error[E-REG-009]');
    const found = async (): Promise<unknown> => JSON.parse((await run('info', 'style@1.0.0', '--json')).stdout);
    const signed = { signatures: [{ signed_by: signedLine(acme), reason: null }] };
    expect(await found()).toMatchObject({ ...signed, here: [] });
    // A version that was installed without its signature, which only the registry has.
    home('config.yaml', '');
    expect((await run('install')).code).toBe(0);
    rmSync(join(workspace.folder, '.svc/artifacts/style/1.0.0/style-1.0.0.zip.sigstore.jsonl'), { force: true });
    trust('{ names: ["*"], signed_by: { key: stranger } }');
    expect((await run('run', '--offline')).stderr).toMatch(/error\[E-REG-0(09|11)\]/);
    expect(await found()).toMatchObject({ ...signed, here: [{ origin: 'project', signatures: 0 }] });
    expect((await run('info', 'style@1.0.0')).stdout).toMatch(/^signed by {4}the key acme$/m);
  }, 60_000);

  it('look where an entry comes from, and say so where that place does not answer', async () => {
    const oci = await MemoryOci.open();
    oci.listsReferrers = true;
    await run('publish', 'style', '--registry', `oci://${oci.host}/acme`, '--sign', '--key', 'acme.key');
    home('config.yaml', 'trust: { keys: { acme: ./acme.pub } }\n');
    const manifestText = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', manifestText.replace(/^artifacts:\n.*\n/m, 'artifacts: []\n'));
    expect((await run('add', `oci://${oci.host}/acme/style:1.0.0`)).code).toBe(0);
    const found = async (): Promise<unknown> => JSON.parse((await run('info', 'style@1.0.0', '--json')).stdout);
    // One of the archive, and one of the manifest.
    const one = { signed_by: signedLine(acme), reason: null };
    const signed = { signatures: [one, one], unasked: null };
    expect(await found()).toMatchObject({ ...signed, here: [{ origin: 'project', signatures: 0 }] });
    const archive = join(workspace.folder, '.svc', 'artifacts', 'style');
    rmSync(archive, { recursive: true });
    expect(await found()).toMatchObject({ ...signed, here: [] });
    expect(existsSync(archive)).toBe(false);
    expect((await run('install')).code).toBe(0);
    oci.fault = (_, response) => {
      response.writeHead(500).end();
      return true;
    };
    expect(await found()).toMatchObject({ signatures: [], unasked: expect.stringContaining(oci.host) as string });
    expect((await run('info', 'style@1.0.0')).stdout).toMatch(
      /^signatures {3}maybe more at its source, which did not answer: /m,
    );
  }, 60_000);
});
