import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { manifestText, toolBytes } from '../../packages/artifacts/test/store/artifacts.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

function skill(name: string): Record<string, string> {
  return {
    [`${name}/svc.yaml`]: `name: ${name}\nversion: 1.0.0\nruntime: skill\n`,
    [`${name}/skill.md`]: `Be ${name}.\n`,
  };
}

function recorded(workspace: Workspace, lock: string): string[] {
  const { artifacts } = JSON.parse(readFileSync(join(workspace.folder, lock), 'utf8')) as {
    artifacts: { name: string }[];
  };
  return artifacts.map(({ name }) => name);
}

describe('a new artifact of a manifest', () => {
  it.each([
    ['./svc.yaml', 'svc.lock'],
    ['deploy/svc.yaml', 'deploy/svc.lock'],
  ])('in %s is taken into %s by svc run, which says so in one line', async (manifest, lock) => {
    const workspace = capsule();
    const folder = manifest.slice(0, -'svc.yaml'.length);
    for (const [path, text] of Object.entries(taskFile)) workspace.write(`${folder}${path}`, text);
    const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write(`${folder}script.yaml`, readFileSync(join(workspace.folder, 'script.yaml'), 'utf8'));
    const needs = (...entries: string[]): void =>
      workspace.write(manifest, `${text}artifacts:\n${entries.map((entry) => `  - ${entry}\n`).join('')}`);
    for (const [path, content] of Object.entries(skill('tone'))) workspace.write(`${folder}${path}`, content);
    const request = '{ name: svc-tool-request-input, version: 1.0.0 }';
    const tone = '{ name: tone, version: 1.0.0, runtime: skill, source: ./tone }';
    const editor = '{ name: svc-tool-editor, version: 1.0.0 }';
    needs(request);
    expect(await svc(workspace, ['run', '--manifest', manifest])).toMatchObject({ code: 0, stderr: '' });
    needs(request, tone, editor);
    const taken = await svc(workspace, ['run', '--manifest', manifest]);
    expect(taken).toMatchObject({
      code: 0,
      stderr: 'warning[W-REG-033]: svc.lock records svc-tool-editor@1.0.0 from now on: svc.yaml lists it anew\n',
    });
    expect(recorded(workspace, lock)).toEqual(expect.arrayContaining(['svc-tool-editor', 'svc-tool-request-input']));
    expect(recorded(workspace, lock)).not.toContain('tone');
    workspace.write(`${folder}tone/skill.md`, 'Be another.\n');
    expect(await svc(workspace, ['run', '--manifest', manifest])).toMatchObject({ code: 0, stderr: '' });
  });

  it('makes the start warn of a component that is older than its source', async () => {
    const workspace = capsule({ manifest: 'artifacts: [{ name: echo, version: 1.0.0, source: ./echo }]\n' });
    for (const [path, text] of Object.entries(taskFile)) workspace.write(path, text);
    workspace.write('echo/svc.yaml', manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool' }));
    workspace.write('echo/component.ts', 'export const run = {};\n');
    writeFileSync(join(workspace.folder, 'echo/component.wasm'), toolBytes);
    const before = new Date('2026-01-01T00:00:00Z');
    utimesSync(join(workspace.folder, 'echo/component.wasm'), before, before);
    const { stderr } = await svc(workspace, ['run']);
    expect(stderr).toContain(
      `warning[W-ART-001]: ${workspace.folder}/echo/component.wasm is older than component.ts beside it, and is used as it is\n`,
    );
  });
});
