import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

import { archiveBytes } from '../../packages/artifacts/test/store/artifacts.ts';
import { componentText } from '../../packages/components/test/support/component-text.ts';
import { key, RegistryKit } from '../../packages/registry/test/registry-kit.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));
const { componentize_qjs: engineVersion } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../packages/components/engine/engine.json', import.meta.url)), 'utf8'),
) as { readonly componentize_qjs: string };
const toolManifest = 'name: echo\nversion: 1.0.0\nruntime: tool\ndescription: Says it again.\n';
const echo =
  "export const run = { run: ({ arguments: content }) => ({ status: 'passed', content, truncated: false }) };\n";

const workspaces: Workspace[] = [];
afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

/** A folder of a tool, with the packages that build it. */
function sourceFolder(source: string, manifest = toolManifest): Workspace {
  const workspace = makeWorkspace({ 'svc.yaml': manifest, 'component.ts': source });
  workspaces.push(workspace);
  symlinkSync(packages, join(workspace.folder, 'node_modules'));
  return workspace;
}

async function refusal(source: string): Promise<string> {
  const workspace = sourceFolder(source);
  const { code, stdout, stderr } = await svc(workspace, ['build']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr.replaceAll(workspace.folder, '');
}

// Building a component takes a second or so of a machine that does nothing else.
describe('svc build of a folder with component.ts', { timeout: 120_000 }, () => {
  it('builds component.wasm beside it, which runs as a tool', async () => {
    const workspace = sourceFolder(echo);
    expect((await svc(workspace, ['build'])).code).toBe(0);
    workspace.write(
      'capsule/svc.yaml',
      'name: c\nversion: 1.0.0\nartifacts: [{ name: echo, version: 1.0.0, source: .. }]\n' +
        'inference: { model: script, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }\n',
    );
    workspace.write(
      'capsule/script.yaml',
      '- content: [{ type: tool_call, id: c1, name: echo, input: { said: once } }]\n  stop_reason: tool_call\n' +
        '- content: [{ type: text, text: Done. }]\n  stop_reason: end_turn\n',
    );
    const run = await svc(workspace, ['run', '--manifest', 'capsule/svc.yaml', '--task', 'x']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const [session = ''] = /ses_[0-9a-f]{32}/.exec(run.stdout) ?? [];
    const trace = readFileSync(join(workspace.folder, 'capsule', '.svc', 'sessions', session, 'trace.jsonl'), 'utf8');
    expect(trace).toContain('"arguments":{"said":"once"},"is_error":false');
  });

  it('builds the same bytes again, and --check says so or how they differ', async () => {
    const workspace = sourceFolder(echo);
    const component = join(workspace.folder, 'component.wasm');
    expect((await svc(workspace, ['build', '--check'])).stderr).toMatch(
      /^error\[E-ART-013\]: .*component.wasm is not there\n/,
    );
    await svc(workspace, ['build']);
    const first = readFileSync(component);
    const check = await svc(workspace, ['build', '--check'], { env: { TZ: 'Asia/Tokyo', LANG: 'tr_TR.UTF-8' } });
    expect(check).toMatchObject({ code: 0, stdout: '', stderr: 'component.wasm is what component.ts builds\n' });

    workspace.write('component.ts', echo.replace('passed', 'failed'));
    const differs = await svc(workspace, ['build', '--check']);
    expect(differs.code).toBe(1);
    expect(differs.stderr).toMatch(
      /^error\[E-ART-013\]: .*component.wasm has the hash [0-9a-f]{64}, and component.ts builds [0-9a-f]{64}\n/,
    );
    expect(readFileSync(component)).toEqual(first);
  });

  it('says that nobody can repeat a build with another version of componentize-qjs, and builds it', async () => {
    const workspace = sourceFolder(echo);
    const installed = join(workspace.folder, 'node_modules');
    unlinkSync(installed);
    workspace.write(
      'node_modules/componentize-qjs/package.json',
      '{ "name": "componentize-qjs", "version": "0.4.99" }',
    );
    workspace.write(
      'node_modules/componentize-qjs/index.js',
      `module.exports = require(${JSON.stringify(join(packages, 'componentize-qjs'))});`,
    );
    for (const name of ['esbuild', '@svc']) symlinkSync(join(packages, name), join(installed, name));
    const { code, stderr } = await svc(workspace, ['build']);
    expect(code).toBe(0);
    expect(stderr).toContain(
      'warning[W-ART-002]: componentize-qjs 0.4.99 builds a component with other bytes each time\n',
    );
    expect(stderr).toContain(`hint: with componentize-qjs ${engineVersion}, every build gives the same\n`);
    expect(readFileSync(join(workspace.folder, 'component.wasm')).length).toBeGreaterThan(100_000);
  });

  it('takes the interfaces from the installed guest, and refuses those that this svc does not have', async () => {
    const workspace = sourceFolder(
      "import { emitChunk } from 'svc:text/chunks@0.2.0';\n" +
        "export const run = { run: () => { emitChunk('x'); return { status: 'passed', content: '', truncated: false }; } };\n",
    );
    const installed = join(workspace.folder, 'node_modules');
    unlinkSync(installed);
    cpSync(join(packages, '@svc', 'guest'), join(installed, '@svc', 'guest'), { recursive: true, dereference: true });
    for (const name of ['esbuild', 'componentize-qjs']) symlinkSync(join(packages, name), join(installed, name));
    expect((await svc(workspace, ['build'])).stderr).toContain('E-ART-011');
    const wit = join(installed, '@svc', 'guest', 'wit');
    for (const file of readdirSync(wit, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.wit'),
    )) {
      const text = readFileSync(join(wit, file), 'utf8');
      writeFileSync(
        join(wit, file),
        text
          .replaceAll('svc:text@0.1.0', 'svc:text@0.2.0')
          .replaceAll('svc:text/chunks@0.1.0', 'svc:text/chunks@0.2.0'),
      );
    }
    const { code, stderr } = await svc(workspace, ['build']);
    expect({ code, stderr: stderr.replaceAll(workspace.folder, '') }).toEqual({
      code: 1,
      stderr:
        'error[E-ART-016]: /component.ts: it is built for svc:text/chunks@0.2.0, and this svc has svc:text 0.1.0\n' +
        'hint: update svc, or build it with the @svc/guest of a folder that svc new makes\n',
    });
    expect(existsSync(join(workspace.folder, 'component.wasm'))).toBe(false);
  });

  it('names every place where the source cannot be read', async () => {
    const stderr = await refusal("import './absent.ts';\nimport 'left-pad';\nexport const run = {};\n");
    expect(stderr).toContain('error[E-ART-011]: Could not resolve "./absent.ts"\n --> /component.ts:1:8\n');
    expect(stderr).toContain('error[E-ART-011]: Could not resolve "left-pad"\n --> /component.ts:2:8\n');
  });

  it('names the export that is missing', async () => {
    expect(await refusal('export const inference = {};\n')).toBe(
      'error[E-ART-011]: /component.ts does not export run, which every tool exports\nhint: it exports inference\n',
    );
    expect(await refusal('const run = 1;\n')).toBe(
      'error[E-ART-011]: /component.ts does not export run, which every tool exports\nhint: it exports nothing\n',
    );
  });

  it('says what a source throws when it is loaded', async () => {
    expect(await refusal("export const run = {};\nthrow new Error('too early');\n")).toBe(
      'error[E-ART-011]: /component.ts: Error: too early\n',
    );
  });

  it('names an interface that svc does not offer', async () => {
    expect(
      await refusal("import { read } from 'svc:secrets/all@0.1.0';\nexport const run = { run: read };\n"),
    ).toContain("error[E-ART-011]: /component.ts: package 'svc:secrets@0.1.0' not found.");
  });

  it('refuses a component of another toolchain that imports what svc does not offer, and so do svc install and svc run', async () => {
    const store = `(import "wasi:keyvalue/store@0.2.0-draft2" (instance $store (export "open" (func (result u32)))))
      (core func $open (canon lower (func $store "open")))
      (core instance $host (export "f" (func $open)))`;
    const { wasm } = await componentText(`${store}
      (core module $module (import "host" "f" (func (result i32))) (func (export "run") (result i32) (call 0)))
      (core instance $instance (instantiate $module (with "host" (instance $host))))
      (func $run (result u32) (canon lift (core func $instance "run")))
      (instance $tool (export "run" (func $run)))
      (export "svc:tool/run@0.1.0" (instance $tool))`);
    const workspace = makeWorkspace({ 'echo/svc.yaml': toolManifest });
    workspaces.push(workspace);
    writeFileSync(join(workspace.folder, 'echo', 'component.wasm'), wasm as Uint8Array);
    workspace.write(
      'svc.yaml',
      'name: c\nversion: 1.0.0\nartifacts: [{ name: echo, version: 1.0.0, source: echo }]\n' +
        'inference: { model: script, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }\n',
    );
    workspace.write('script.yaml', '- content: [{ type: text, text: Done. }]\n  stop_reason: end_turn\n');
    const refused =
      'error[E-ART-016]: the component of echo cannot be used: it imports wasi:keyvalue/store@0.2.0-draft2, which this svc does not offer\n' +
      'hint: build it without that: docs/authoring.md "What a component can import" lists what there is\n';
    for (const args of [['build', 'echo'], ['install'], ['run', '--task', 'x']]) {
      const { code, stdout, stderr } = await svc(workspace, args);
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
      expect(stderr).toContain(refused);
    }
    expect(readdirSync(workspace.folder).filter((name) => name.endsWith('.zip') || name === '.svc')).toEqual([]);

    // No store takes it from elsewhere either, so that a later run does not find it there.
    const registry = await RegistryKit.open();
    const archive = await archiveBytes([
      { name: 'svc.yaml', data: Buffer.from(toolManifest) },
      { name: 'component.wasm', data: Buffer.from(wasm as Uint8Array) },
    ]);
    await registry.publish('name=echo&version=1.0.0&runtime=wasm', archive);
    const env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key };
    rmSync(join(workspace.folder, 'svc.lock'));
    const sourced = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', sourced.replace(', source: echo', ''));
    writeFileSync(join(workspace.folder, 'echo-1.0.0.zip'), archive);
    for (const args of [
      ['run', '--task', 'x'],
      ['install', 'echo-1.0.0.zip'],
      ['run', '--task', 'x'],
    ]) {
      const { code, stdout, stderr } = await svc(workspace, args, { env });
      expect({ args, code, stdout, stderr }).toEqual({ args, code: 1, stdout: '', stderr: refused });
    }
    expect(existsSync(join(workspace.folder, '.svc', 'artifacts', 'echo'))).toBe(false);
    expect(existsSync(join(workspace.folder, 'svc.lock'))).toBe(false);
  });

  it('names the packages that are not installed', async () => {
    const workspace = makeWorkspace({ 'svc.yaml': toolManifest, 'component.ts': echo });
    workspaces.push(workspace);
    const { code, stderr } = await svc(workspace, ['build']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-ART-011\]: component.ts is built with @svc\/guest, esbuild and componentize-qjs, not installed in .+\n/,
    );
  });

  it('leaves the component of an earlier build as it was when the source is wrong', async () => {
    const workspace = sourceFolder('export const ran = 1;\n');
    workspace.write('component.wasm', 'earlier');
    expect((await svc(workspace, ['build'])).code).toBe(1);
    expect(readFileSync(join(workspace.folder, 'component.wasm'), 'utf8')).toBe('earlier');
  });

  it('says what is wrong with the manifest before it builds anything', async () => {
    const workspace = sourceFolder(echo, `${toolManifest}input_schema: { type: nonsense }\n`);
    const { code, stderr } = await svc(workspace, ['build']);
    expect(code).toBe(1);
    expect(stderr).not.toContain('E-ART-011');
    expect(existsSync(join(workspace.folder, 'component.wasm'))).toBe(false);
  });

  it('leaves component.ts alone beside a skill', async () => {
    const skill = 'name: tone\nversion: 1.0.0\nruntime: skill\ndescription: How to write.\n';
    const workspace = sourceFolder('not a program', skill);
    workspace.write('skill.md', 'Write short sentences.\n');
    expect((await svc(workspace, ['build'])).code).toBe(0);
    expect(existsSync(join(workspace.folder, 'component.wasm'))).toBe(false);
  });
});
