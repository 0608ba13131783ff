import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { readFolder } from '@svc/artifacts/store/build-archive.ts';
import { toolBytes, manifestText } from '../../packages/artifacts/test/store/artifacts.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const [earlier, later] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')];

let workspace: Workspace;
let folder: string;
beforeEach(() => {
  workspace = capsule();
  folder = join(workspace.folder, 'echo');
  mkdirSync(folder);
  writeFileSync(join(folder, 'svc.yaml'), manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool' }));
  writeFileSync(join(folder, 'component.wasm'), toolBytes);
  writeFileSync(join(folder, 'component.ts'), 'export const run = {};\n');
});

function touch(source: Date, component: Date): void {
  utimesSync(join(folder, 'component.ts'), source, source);
  utimesSync(join(folder, 'component.wasm'), component, component);
}

async function warnings(): Promise<string[]> {
  const read = await readFolder({ directory: folder, env: {}, checkArtifact: () => Promise.resolve() });
  return read.warnings.map((warning: Diagnostic) => warning.code);
}

describe('a folder whose component is older than its source', () => {
  it('can be published as it is, with a warning', async () => {
    touch(later, earlier);
    const { code, stdout, stderr } = await svc(workspace, ['publish', 'echo', '--registry', 'local']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^echo@1\.0\.0 [0-9a-f]{64}\n$/) as string,
    });
    expect(stderr).toBe(
      `warning[W-ART-001]: ${folder}/component.wasm is older than component.ts beside it, and is used as it is\n` +
        `hint: svc build ${folder} builds it anew\npublished to ${workspace.home}/.svc/artifacts\n`,
    );
  });

  it('can be installed with the same warning', async () => {
    touch(later, earlier);
    const { stderr } = await svc(workspace, ['install', './echo']);
    expect(stderr).toContain('warning[W-ART-001]: ');
  });

  it('differs from one that is as old or newer, or has no source', async () => {
    touch(later, earlier);
    expect(await warnings()).toEqual(['W-ART-001']);
    touch(earlier, later);
    expect(await warnings()).toEqual([]);
    touch(earlier, earlier);
    expect(await warnings()).toEqual([]);
    touch(later, earlier);
    rmSync(join(folder, 'component.ts'));
    expect(await warnings()).toEqual([]);
  });

  it('differs from one that was never built, which fails', async () => {
    rmSync(join(folder, 'component.wasm'));
    const { code, stdout, stderr } = await svc(workspace, ['publish', 'echo', '--registry', 'local']);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `error[E-ART-004]: ${folder} has no component.wasm yet\nhint: svc build ${folder} makes it of component.ts\n`,
    });
    renameSync(join(folder, 'component.ts'), join(folder, 'build.sh'));
    expect((await svc(workspace, ['build', 'echo'])).stderr).toBe(
      `error[E-ART-004]: ${folder} has no component.wasm yet\nhint: sh ${folder}/build.sh makes it\n`,
    );
  });
});
