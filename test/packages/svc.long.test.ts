import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { needsClass } from '../../packages/sandbox/test/needs-class.ts';
import { InstalledSvc, type Packed, packSvc } from '../support/installed-svc.ts';

const million = 1_000_000;
const checkout = join(import.meta.dirname, '..', '..');

describe('the package svc', { timeout: 240_000 }, () => {
  const place = mkdtempSync(join(tmpdir(), 'svc-pack-'));
  let packed: Packed;
  let installed: InstalledSvc;
  beforeAll(async () => {
    packed = await packSvc(join(place, 'once'));
    installed = await InstalledSvc.install(packed.path);
  }, 240_000);
  afterAll(() => {
    rmSync(place, { recursive: true, force: true });
    installed.remove();
  });

  it('has the same bytes when it is packed twice', async () => {
    const again = await packSvc(join(place, 'again'));
    expect(readFileSync(again.path).equals(readFileSync(packed.path))).toBe(true);
  });

  it('takes at most 23.5 MB of a disk, and 8.4 MB of a network', () => {
    expect(packed.unpackedSize).toBeLessThan(23.5 * million);
    expect(packed.size).toBeLessThan(8.4 * million);
  });

  it('has both helpers, the bundled artifacts and what users read, and nothing that only a checkout needs', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'SECURITY.md',
        'CHANGELOG.md',
        'THIRD-PARTY-LICENSES',
        'bin/svc.cjs',
        'dist/bundled/svc-tool-editor/1.0.0/compiled/component.compiled',
        'dist/native/linux-arm64/svc-launch',
        'dist/native/linux-x64/svc-attempts',
        'docs/svc.schema.json',
        'docs/threat-model.md',
        'man/svc.1',
      ]),
    );
    const needless =
      /^docs\/(adr|pictures|conformance)\/|\.cache$|\.inputs$|\.sources$|\.png$|(^|\/)(test|tests?\.ts|node_modules)\/|^packages\/(?!svc\/templates\/).*\/src\/|\.test\./;
    expect(paths.filter((path) => needless.test(path) && !path.startsWith('examples/'))).toEqual([]);
    const helpers = packed.files.filter(({ path }) => /^dist\/native\/linux-\w+\/svc-\w+$/.test(path));
    expect(helpers.map(({ mode }) => mode & 0o777)).toEqual([0o755, 0o755, 0o755, 0o755]);
  });

  it('stores no core module of a bundled component twice', () => {
    const compiled = packed.files.filter(({ path }) => path.endsWith('component.compiled'));
    // svc runs the sources of the three drivers itself.
    expect(compiled).toHaveLength(4);
    // The engine of guests alone, which is in each of them, has 770 KB.
    for (const { path, size } of compiled) expect(size, path).toBeLessThan(700_000);
  });

  it('passes publint', () => {
    const program = join(checkout, 'node_modules', '.bin', 'publint');
    const { status, stdout } = spawnSync(program, ['--strict', packed.path], { encoding: 'utf8' });
    expect(
      stdout.split('\n').filter((line) => /error|warning/i.test(line) && !/no (errors|warnings)/i.test(line)),
    ).toEqual([]);
    expect(status).toBe(0);
  });

  it('brings no other package along', () => {
    expect(installed.neighbours).toEqual([]);
    expect(existsSync(join(installed.folder, 'node_modules'))).toBe(false);
  });

  it('seals programs with the helper that it brings, where nothing can compile one', async (context) => {
    await needsClass(context, 'sealed');
    const hasCompiler = spawnSync('sh', ['-c', 'command -v cc gcc clang musl-gcc make'], { env: installed.env });
    expect(hasCompiler.stdout.toString()).toBe('');
    const report = JSON.parse(await installed.svc(['doctor', '--json'])) as Record<string, unknown>;
    expect(report).toMatchObject({
      containment: 'sealed',
      helper: join(installed.folder, 'dist', 'native', `linux-${process.arch}`, 'svc-launch'),
      problems: [],
    });
  });

  it('runs the hello example', async (context) => {
    await needsClass(context, 'sealed');
    cpSync(join(installed.folder, 'examples', 'hello'), join(installed.project, 'hello'), { recursive: true });
    const said = await installed.svc(['run', '-v', '--manifest', 'hello/svc.yaml']);
    expect(said).toMatch(/\nstatus: {2}ok\n$/);
    const [session = ''] = readdirSync(join(installed.project, 'hello', 'workdir'));
    expect(readFileSync(join(installed.project, 'hello', 'workdir', session, 'out', 'result.txt'), 'utf8')).toBe(
      'The greeting is in greeting.txt and has ten words.',
    );
  });

  it('builds a component with the engine that it puts together', async () => {
    await installed.svc(['new', 'tool', 'kettle']);
    const modules = join(installed.project, 'kettle', 'node_modules');
    mkdirSync(join(modules, '@svc'), { recursive: true });
    for (const name of ['esbuild', 'componentize-qjs']) {
      symlinkSync(join(checkout, 'node_modules', name), join(modules, name));
    }
    symlinkSync(join(checkout, 'packages', 'guest'), join(modules, '@svc', 'guest'));
    await installed.svc(['build', 'kettle']);
    expect(existsSync(join(installed.folder, 'packages', 'components', 'engine', 'engine.wasm'))).toBe(false);
    expect(readdirSync(installed.project)).toContain('kettle-0.1.0.zip');
  });

  it('serves a registry, publishes to it and installs from it', async () => {
    await installed.svc(['new', 'skill', 'tone']);
    const key = 'a-key-of-this-test-alone-0123456789';
    const registry = installed.start('svc-registry', ['--data', join(installed.home, 'registry')], {
      REGISTRY_API_KEY: key,
      REGISTRY_BIND: '127.0.0.1:0',
    });
    try {
      const [, port = ''] = await registry.complained(/127\.0\.0\.1:(\d+)/);
      const env = { SVC_REGISTRY_URL: `http://127.0.0.1:${port}`, REGISTRY_API_KEY: key };
      await installed.svc(['publish', 'tone'], env);
      await installed.svc(['install', '--global', 'tone@0.1.0'], env);
      expect(readdirSync(join(installed.home, '.svc', 'artifacts', 'tone'))).toEqual(['0.1.0']);
    } finally {
      registry.child.kill();
      await registry.ended;
    }
  });

  it('runs a delegated team under its own referee', async () => {
    const script = join(installed.folder, 'examples', 'delegation', 'run.mjs');
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, installed.project], {
      cwd: installed.project,
      env: installed.env,
      encoding: 'utf8',
      timeout: 120_000,
    });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(/report\.txt:\nTHE QUICK BROWN FOX!\nThe line has 4 words\.\n/);
  });

  it('says that it was replaced when its files become those of another while it runs', async () => {
    const copy = join(place, 'replaced');
    cpSync(installed.folder, copy, { recursive: true });
    const manifest = join(installed.folder, 'examples', 'hello', 'svc.yaml');
    const args = [join(copy, 'bin', 'svc.cjs'), 'run', '-p', '--manifest', manifest];
    const running = spawn(process.execPath, args, { cwd: installed.project, env: installed.env });
    let said = '';
    const waits = new Promise<void>((resolve) => {
      running.stderr.on('data', (piece: Buffer) => {
        said += piece.toString();
        // It has what it needs to wait for the end of the task, and nothing yet of a session.
        if (said.includes('W-RUN-065')) resolve();
      });
    });
    await waits;
    const start = join(copy, 'dist', 'svc.cjs');
    writeFileSync(start, readFileSync(start, 'utf8').replace(/^\/\*[0-9a-f]+\*\//, '/*0000000000000000*/'));
    rmSync(join(copy, 'dist', 'late'), { recursive: true });
    running.stdin.end('Greet me.');
    const [code] = (await once(running, 'close')) as [number | null];
    expect(said).toMatch(/^error\[E-RUN-170\]: svc was replaced or removed while it ran: Cannot find module/m);
    expect(code).toBe(1);
  });
});
