import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, readdirSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { onlySession, taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { snapshot } from '../support/folder-snapshot.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const report = ['run', '--explain-scope'];
/** What every host has: no more than this is used. */
const weak = { SVC_CONTAINMENT_CEILING: 'advisory' };

const manifest = `artifacts:
  - { name: svc-tool-editor, version: 1.0.0, capabilities: { filesystem: { scope: out/notes, read_only: true } } }
  - { name: ghost, version: 9.9.9 }
  - { name: style, version: 2.0.0, runtime: skill }
capabilities:
  filesystem: { scope: out, workdir_exec: true }
  network: { allow: [nowhere.invalid, "localhost:8080"], unix_sockets: true }
  shell: { allow: [sh, git] }
  spawn: { allow: [helper] }
  env: { allow: [LANG] }
  plan: { submit: true }
lifecycle: { task_acceptance: queue, after_task: sleep }
`;

/** As `manifest`, with nothing that has to be found. */
const runnable = `artifacts:
  - { name: svc-tool-editor, version: 1.0.0, capabilities: { filesystem: { scope: out/notes, read_only: true } } }
capabilities:
  filesystem: { scope: out }
  network: { allow: [nowhere.invalid, "https://api.example:8443"], unix_sockets: true }
  shell: { allow: [sh, git] }
  env: { allow: [LANG] }
  plan: { submit: true }
`;

/** Reports every name that is looked up, every connection and every server, as the engine sees them. */
const watchNetwork = `const kinds = /^(GETADDRINFO|GETNAMEINFO|QUERY|DNSCHANNEL|TCP|PIPESERVER|UDP)/;
require('node:async_hooks')
  .createHook({ init: (id, type) => kinds.test(type) && require('node:fs').writeSync(2, 'watched: ' + type + '\\n') })
  .enable();
`;

/** What a capsule that may delegate needs to know; a report asks nobody there. */
const referee = { SVC_REFEREE_URL: 'http://127.0.0.1:9' };

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? '';
}

describe('svc run --explain-scope', () => {
  it('prints the sections of the report and exits with 0 [D1-SCOPE-01, D1-SCOPE-04, D1-SCOPE-06, D1-SCOPE-07, D1-SCOPE-08, D1-CLI-09, D1-MAN-02, D1-MAN-08, D1-MAN-19, D1-MAN-20]', async () => {
    const { code, stdout } = await svc(capsule({ manifest }), report, { env: { ...weak, ...referee } });
    const [containment, grants, limits, notStopped, ...others] = stdout.split('\n\n');
    expect({ code, others }).toEqual({ code: 0, others: [] });
    expect(containment).toMatch(
      /^Containment\n {2}declared: {6}advisory\n {2}achieved: {6}advisory\n {2}floor met: {5}yes\n {2}mechanism: {5}\S+\n {2}userns grant: {2}\S.*$/,
    );
    expect(grants).toBe(`Effective grants
  filesystem scope:     out
  workdir exec:         yes
  read_only:            no
  preopens:             svc-tool-editor (tool)      out/notes, read only
                        ghost (tool)                out, read and write
                        svc-driver-script (driver)  out, read and write
  network allow:        nowhere.invalid, localhost:8080
  unix sockets:         yes
  shell allow:          sh, git
  spawn allow:          helper
  env allow:            LANG
  plan submit:          yes
  interpreter runtime:  sh
  staged runtime:       svc-tool-editor@1.0.0, ghost@9.9.9, style@2.0.0, svc-driver-script@1.0.0`);
    expect(limits).toMatch(/^Limits\n {2}processes of a session: {2}.*\n/);
    expect(notStopped).toMatch(/^Not stopped\n {2}- sh runs any code it is given: .*\n {2}- /);
    expect(stdout).not.toContain('report only');
  });

  it('prints with --json the very bytes that a session records as its effective grants [D1-SCOPE-01, D1-SCOPE-02, D1-SCOPE-03, D1-CLI-09]', async () => {
    const workspace = capsule({ manifest: runnable, files: taskFile });
    const env = { SVC_LISTENER_TOKEN: 'api.example' };
    const { code, stdout } = await svc(workspace, [...report, '--json', '-v'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\{.*\}\n$/);
    expect(await svc(workspace, ['run'], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\nstatus: {2}ok\n$/),
    });
    const [start = ''] = readFileSync(tracePath(workspace, onlySession(workspace)), 'utf8').split('\n');
    expect(start).toContain(`,"effective_grants":${stdout.trimEnd()}}`);
    expect(JSON.parse(stdout)).toMatchObject({
      containment: { declared: 'advisory', floor_met: true },
      filesystem_scope: 'out',
      preopens: [
        { artifact: 'svc-tool-editor', runtime: 'tool', path: 'out/notes', writable: false },
        { artifact: 'svc-driver-script', runtime: 'driver', path: 'out', writable: true },
      ],
      // What is secret is in neither.
      network_allow: ['nowhere.invalid', 'https://[secret]:8443'],
      shell_allow: ['sh', 'git'],
    });
  });
});

describe('a scope report on a launch that would be refused', () => {
  const lowFloor =
    /^this is a report only: svc run would be refused \(E-CAP-003, the containment floor cannot be met: declared sealed, achieved advisory \(.+\)\)$/;

  it('appears all the same and ends with a line that says so [D1-CLI-11, D1-SCOPE-04]', async () => {
    const workspace = capsule({ manifest: 'capabilities: { containment: sealed }\n' });
    const { code, stdout, stderr } = await svc(workspace, report, { env: weak });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Containment\n {2}declared: {6}sealed\n {2}achieved: {6}advisory\n {2}floor met: {5}no\n/);
    expect(stdout).toContain('\nEffective grants\n');
    expect(lastLine(stdout)).toMatch(lowFloor);
  });

  it('has that line on stderr with --json [D1-CLI-11]', async () => {
    const args = [...report, '--json', '--containment', 'sealed'];
    const { code, stdout, stderr } = await svc(capsule(), args, { env: weak });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\{"containment":\{"declared":"sealed","achieved":"advisory","floor_met":false,.*\}\n$/);
    expect(stderr.trimEnd()).toMatch(lowFloor);
  });

  it('names a key that is not set', async () => {
    const workspace = capsule({ manifest: 'artifacts: [{ name: guard, version: 1.0.0, runtime: hook }]\n' });
    const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', text.replace('model: scripted', 'model: scripted\n  api_key: ${PROVIDER_KEY}'));
    const unset = await svc(workspace, report);
    expect({ code: unset.code, stderr: unset.stderr }).toEqual({ code: 0, stderr: '' });
    expect(unset.stdout).toContain('  preopens:             guard (hook)                (none)\n');
    expect(lastLine(unset.stdout)).toBe(
      'this is a report only: svc run would be refused (E-MAN-003, inference.api_key refers to the variable PROVIDER_KEY, which is not set)',
    );
    const set = await svc(workspace, report, { env: { PROVIDER_KEY: 'secret' } });
    expect(set.stdout).not.toContain('this is a report only');
    for (const env of [{}, { PROVIDER_KEY: 'secret' }]) {
      expect(await svc(workspace, ['run'], { env })).toMatchObject({ code: 1, stdout: '' });
    }
  });
});

describe('a scope report', () => {
  it('makes nothing and looks nothing up, whatever else is asked for [D1-CLI-10, D1-SCOPE-08]', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const workspace = capsule({
      manifest: `${manifest}network: { internal_port: ${port} }\n`,
      files: { ...taskFile, 'svc.lock': 'not a lock file\n' },
    });
    rmSync(join(workspace.home, '.svc'), { recursive: true });
    // What the host was found to do is kept for the user, and is all that is.
    await svc(workspace, report);
    const kept = ['.svc', '.svc/cache', '.svc/cache/containment.json'];
    expect(kept).toEqual(expect.arrayContaining(readdirSync(workspace.home, { recursive: true, encoding: 'utf8' })));
    for (const directory of [workspace.folder, workspace.home]) chmodSync(directory, 0o555);
    const before = snapshot(workspace);
    const launchFlags = ['--task', 'Do it.', '--workdir', 'work', '--bind', '192.0.2.1', '--offline', '--verbose'];
    for (const args of [[], ['--json'], launchFlags]) {
      const { code, stdout } = await svc(workspace, [...report, ...args], { env: referee });
      expect(code).toBe(0);
      expect(stdout).toMatch(/ghost@9\.9\.9/);
      expect(stdout).not.toContain('report only');
    }
    expect(snapshot(workspace)).toEqual(before);
    for (const directory of [workspace.folder, workspace.home]) chmodSync(directory, 0o755);
    holder.close();
    await once(holder, 'close');
  });

  it('asks no name server, connects to nobody and listens to nobody [D1-CLI-10, D1-SCOPE-08]', async () => {
    const workspace = capsule({ manifest: runnable, files: { ...taskFile, 'watch-network.cjs': watchNetwork } });
    const env = { NODE_OPTIONS: `--require=${join(workspace.folder, 'watch-network.cjs')}` };
    const explained = await svc(workspace, report, { env });
    expect(explained.code).toBe(0);
    expect(explained.stderr).not.toContain('watched:');
    // The same watch sees the door of a session.
    expect((await svc(workspace, ['run'], { env })).stderr).toContain('watched: TCPSERVERWRAP\n');
  });

  it('covers the named manifest, with the configuration and the .env beside it', async () => {
    const workspace = capsule();
    mkdirSync(join(workspace.folder, 'other'));
    workspace.write(
      'other/svc.yaml',
      'name: other\nversion: 1.0.0\ninference: { model: m, driver: { artifact: svc-driver-script } }\ncapabilities: { network: { allow: ["${PLACE}"] } }\n',
    );
    workspace.write('other/.env', 'PLACE=there.example\nSVC_CONTAINMENT_CEILING=nonsense\n');
    workspace.write('other/.svc/config.yaml', 'containment: scoped\n');
    const args = [...report, '--json', '--manifest', 'other/svc.yaml'];
    const { code, stdout } = await svc(workspace, args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      containment: { declared: 'scoped' },
      network_allow: ['there.example'],
    });
    const without = await svc(workspace, [...args, '--no-env-file']);
    expect(without).toMatchObject({ code: 1, stdout: '' });
    expect(without.stderr).toContain('error[E-MAN-003]: capabilities.network.allow[0] refers to the variable PLACE');
  });

  it('covers a published capsule too', async () => {
    const workspace = capsule({ manifest: 'capabilities: { shell: { allow: [git] } }\n' });
    expect((await svc(workspace, ['build', '.'])).code).toBe(0);
    const elsewhere = capsule();
    publish(join(workspace.folder, 'demo-1.2.3.zip'), elsewhere);
    rmSync(join(elsewhere.folder, 'svc.yaml'));
    const args = [...report, '--json', '--capsule', 'demo', '--capsule-version', '1.2.3'];
    const { code, stdout } = await svc(elsewhere, args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ shell_allow: ['git'], staged_runtime: ['svc-driver-script@1.0.0'] });
  });
});

describe('a scope that cannot be reported', () => {
  it.each<[what: string, files: Readonly<Record<string, string>>, args: readonly string[], stderr: RegExp]>([
    ['a manifest that is not valid', { 'svc.yaml': 'name: Demo\n' }, [], /^error\[E-MAN-00[13]\]/],
    ['a manifest that is not there', {}, ['--manifest', 'no.yaml'], /^error\[E-IO-001\]: cannot read no\.yaml/],
    [
      'a floor of the manifest that is none',
      { 'svc.yaml': 'name: demo\nversion: 1.0.0\ncapabilities: { containment: strong }\n' },
      [],
      /error\[E-MAN-003\]: capabilities\.containment .*\n --> \.\/svc\.yaml:3:/,
    ],
    [
      'a floor of the workspace that is none',
      { '.svc/config.yaml': '# floors\ncontainment: strong\n' },
      [],
      /^error\[E-MAN-003\]: containment .*\n --> \S+\/\.svc\/config\.yaml:2:14\n/,
    ],
  ])('gives an error: %s', async (_what, files, args, stderr) => {
    const workspace = capsule({ files });
    for (const format of [[], ['--json']]) {
      const end = await svc(workspace, [...report, ...format, ...args]);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr).toMatch(stderr);
    }
  });

  it('gives an error where the ceiling is no class', async () => {
    const end = await svc(capsule(), report, { env: { SVC_CONTAINMENT_CEILING: 'none' } });
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(/^error\[E-CAP-004\]: SVC_CONTAINMENT_CEILING is "none"/);
  });
});

/** Puts an archive of demo 1.2.3 into the store of the user. */
function publish(archive: string, { home }: Workspace): void {
  const store = join(home, '.svc', 'artifacts', 'demo', '1.2.3');
  mkdirSync(store, { recursive: true });
  copyFileSync(archive, join(store, 'demo-1.2.3.zip'));
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex');
  writeFileSync(join(store, 'demo-1.2.3.zip.sha256'), `${sha256}  demo-1.2.3.zip\n`);
}
