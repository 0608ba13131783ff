/** Puts a stand-in for a coding agent where svc finds it. */

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildSync } from 'esbuild';

import { makeWorkspace, type Workspace } from './workspace.ts';

export type StandInName = 'claude' | 'codex';

/** One thing a stand-in does; see `stand-in-program.mjs`. */
export type StandInStep = Readonly<Record<string, unknown>>;

let bundled: string | null = null;

/** Puts a stand-in of this name into a folder: one file that needs only Node. Returns its path. */
export function placeStandIn(folder: string, name: StandInName): string {
  bundled ??= bundle();
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!${process.execPath}\n${bundled}`);
  chmodSync(path, 0o755);
  return path;
}

export interface StandInCapsule {
  readonly workspace: Workspace;
  /** Variables for `svc`, with the program first on its search path. */
  readonly env: Readonly<Record<string, string>>;
}

/** A folder with a capsule whose model is behind a stand-in. `manifest` is its lines beside name, version and inference. */
export function standInCapsule(name: StandInName, manifest: string): StandInCapsule {
  const workspace = makeWorkspace({
    'svc.yaml': `name: demo
version: 1.2.3
inference:
  transport: process
  command: ${name}
  model: m-1
  api_key: \${PROVIDER_KEY}
${manifest}`,
  });
  const programs = join(workspace.folder, 'programs');
  placeStandIn(programs, name);
  const path = [programs, process.env['PATH'] ?? ''].join(delimiter);
  return { workspace, env: { PATH: path, PROVIDER_KEY: 'sk-provider-1' } };
}

/** A prompt that has a stand-in do this. */
export function doing(...steps: readonly StandInStep[]): string {
  return JSON.stringify(steps);
}

function bundle(): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL('stand-in-program.mjs', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node20.19',
    // The file has no ending, and so counts as CommonJS.
    format: 'cjs',
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
}
