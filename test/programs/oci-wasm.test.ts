import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { whyMissing } from '../support/debian-program.ts';
import { foreignGreeter, foreignTool } from '../support/foreign-tool.ts';
import { goProgram } from '../support/go-program.ts';
import { dockerRegistry, type OciServer } from '../support/oci-server.ts';
import { readTrace } from '../support/read-trace.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const missing = whyMissing('docker-registry');
const oras = missing === null ? goProgram('oras.land/oras/cmd/oras', 'v1.3.6') : null;
const whyNoOras = missing ?? oras?.missing ?? null;
const hasWkg = spawnSync('wkg', ['--version']).status === 0;

const editor = fileURLToPath(
  new URL('../../dist/bundled/svc-tool-editor/1.0.0/svc-tool-editor-1.0.0.zip', import.meta.url),
);
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let workspace: Workspace;
let registry: OciServer | null = null;
let host = '';

beforeEach(async () => {
  workspace = scriptCapsule({
    manifest: 'artifacts: []\n',
    script: script(calls([['c1', 'grep', { pattern: 'needle' }]]), says('Done.')),
    files: { 'grep.yaml': 'name: grep\nversion: 2.0.1\nruntime: tool\ndescription: Finds lines.\n' },
  });
});

afterEach(() => {
  registry?.stop();
  workspace.remove();
});

async function start(): Promise<void> {
  registry = await dockerRegistry(workspace);
  ({ host } = registry);
}

async function run(...args: readonly string[]): Promise<SvcEnd> {
  return await svc(workspace, args);
}

async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** The component in an archive. */
function componentIn(archive: string): Buffer {
  return execFileSync('unzip', ['-p', archive, 'component.wasm'], { maxBuffer: 64 * 1024 * 1024 });
}

function client(...args: readonly string[]): string {
  return execFileSync(oras?.path ?? '', args, { cwd: workspace.folder, encoding: 'utf8', stdio: 'pipe' });
}

describe.skipIf(whyNoOras !== null)(`a component alone in an OCI registry (skipped: ${whyNoOras})`, () => {
  async function push(component: Uint8Array, tag: string): Promise<void> {
    await start();
    writeFileSync(join(workspace.folder, 'other.wasm'), component);
    writeFileSync(join(workspace.folder, 'config.json'), '{"architecture":"wasm","os":"wasip2"}');
    const config = 'config.json:application/vnd.wasm.config.v0+json';
    client('push', '--plain-http', '--config', config, `${host}/other/search:${tag}`, 'other.wasm:application/wasm');
  }

  it('reaches a client of another project when svc publish has put it there', async () => {
    await start();
    const to = ['--registry', `oci://${host}/acme`];
    await done('publish', editor, ...to, '--also-wasm');
    client('pull', '--plain-http', `${host}/acme/svc-tool-editor:1.0.0-wasm`, '--output', 'pulled');
    const pulled = readFileSync(join(workspace.folder, 'pulled', 'svc-tool-editor.wasm'));
    expect(sha256Of(pulled)).toBe(sha256Of(componentIn(editor)));
    const manifest = JSON.parse(
      client('manifest', 'fetch', '--plain-http', `${host}/acme/svc-tool-editor:1.0.0-wasm`),
    ) as { config: { digest: string; mediaType: string }; layers: object[] };
    expect(manifest).toMatchObject({
      config: { mediaType: 'application/vnd.wasm.config.v0+json' },
      layers: [{ mediaType: 'application/wasm' }],
    });
    const at = `${host}/acme/svc-tool-editor@${manifest.config.digest}`;
    const config = client('blob', 'fetch', '--plain-http', '--output', '-', at);
    expect(JSON.parse(config)).toMatchObject({
      layerDigests: [`sha256:${sha256Of(pulled)}`],
      component: {
        exports: expect.arrayContaining(['svc:tool/run@0.1.0']),
        imports: expect.arrayContaining(['wasi:io/streams@0.2.12', 'wasi:clocks/wall-clock@0.2.12']),
      },
    });
    const again = await run('publish', editor, ...to, '--also-wasm');
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-REG-003]') });
  }, 120_000);

  it('reaches wkg when svc publish has put it there', async (context) => {
    context.skip(!hasWkg, 'needs wkg, which cargo install wkg builds');
    await start();
    await done('publish', editor, '--registry', `oci://${host}/acme`, '--also-wasm');
    const reference = `${host}/acme/svc-tool-editor:1.0.0-wasm`;
    execFileSync('wkg', ['oci', 'pull', '--insecure', host, reference, '--output', 'wkg.wasm'], {
      cwd: workspace.folder,
      stdio: 'pipe',
    });
    const pulled = readFileSync(join(workspace.folder, 'wkg.wasm'));
    expect(sha256Of(pulled)).toBe(sha256Of(componentIn(editor)));
  }, 120_000);

  it('becomes a tool that a session calls when another project has put it there', async () => {
    await push(await foreignTool(), 'latest');
    const reference = `oci://${host}/other/search:latest`;
    const planned = JSON.parse(await done('add', reference, '--artifact-manifest', 'grep.yaml', '--dry-run', '--json'));
    expect(planned).toMatchObject({ name: 'grep', after: '2.0.1', outcome: 'planned' });
    await done('add', reference, '--artifact-manifest', 'grep.yaml');
    const row = `{ name: grep, version: 2.0.1, from: "oci://${host}/other/search" }`;
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toContain(`artifacts: [${row}]\n`);
    const lock = JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8'));
    const locked = lock.artifacts.find(({ name }: { name: string }) => name === 'grep');
    expect(locked).toMatchObject({
      version: '2.0.1',
      from: expect.stringMatching(/\/other\/search@sha256:[0-9a-f]{64}$/),
    });

    expect(await run('run', '--task', 'Find it.', '--offline')).toMatchObject({ code: 0 });
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const called = readTrace(join(sessions, readdirSync(sessions)[0] ?? '', 'trace.jsonl')).filter(
      ({ event_type: type }) => type === 'tool_call',
    );
    expect(called).toMatchObject([{ tool_name: 'grep', tool_kind: 'wasm', is_error: false, content_bytes: 78 }]);

    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    expect(await run('install', '--frozen')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error[E-ART-014]'),
    });
    const digest = String(locked.from).split('@')[1];
    const at = `oci://${host}/other/search@${digest}`;
    const installed = JSON.parse(await done('install', at, '--artifact-manifest', 'grep.yaml', '--json'));
    expect(installed).toMatchObject({ name: 'grep', version: '2.0.1', sha256: locked.sha256 });
    await done('install', '--frozen');
    writeFileSync(join(workspace.folder, 'grep.yaml'), 'name: grep\nversion: 2.0.1\nruntime: tool\n');
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    const other = await run('install', at, '--artifact-manifest', 'grep.yaml');
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-REG-005]') });
  }, 120_000);

  it('fails with a list of its exports when it exports something else', async () => {
    await push(await foreignGreeter(), '1.0.0');
    const before = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    for (const command of ['add', 'install']) {
      const end = await run(command, `oci://${host}/other/search:1.0.0`, '--artifact-manifest', 'grep.yaml');
      expect(end.code).toBe(1);
      expect(end.stderr).toContain(
        `error[E-ART-014]: what oci://${host}/other/search:1.0.0 has exports other:hello/greet@1.0.0, not svc:tool/run`,
      );
      const plain = await run(command, `oci://${host}/other/search:1.0.0`);
      expect(plain).toMatchObject({ code: 1, stderr: expect.stringContaining('--artifact-manifest') });
    }
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toBe(before);
  }, 120_000);
});

describe('svc publish --also-wasm', () => {
  it.each([
    [['publish', editor, '--also-wasm'], 'error[E-REG-006]: --also-wasm is for OCI registries'],
    [
      ['publish', 'style', '--also-wasm', '--registry', 'oci://127.0.0.1:1/acme'],
      'error[E-ART-004]: style@1.0.0 has no component.wasm',
    ],
    [['install', 'echo@1.0.0', '--artifact-manifest', 'grep.yaml'], '--artifact-manifest is for a component that oci:'],
    [['add', 'echo', '--artifact-manifest', 'grep.yaml'], '--artifact-manifest is for a component that oci:'],
    [['add', 'oci://127.0.0.1:1/a:1', '--artifact-manifest', 'none.yaml'], 'error[E-IO-001]: cannot read'],
  ])('fails with --artifact-manifest: svc %j', async (args, message) => {
    workspace.write('style/svc.yaml', 'name: style\nversion: 1.0.0\nruntime: skill\n');
    workspace.write('style/skill.md', 'Be brief.\n');
    const { code, stderr } = await run(...args);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(message) as string]);
  });
});
