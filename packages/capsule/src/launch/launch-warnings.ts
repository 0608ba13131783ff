/** Warns of what a manifest declares and this machine does not have or enforce. */

import { join } from 'node:path';

import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { renderKeyPath, type KeyPath } from '@svc/artifacts/manifest/key-path.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { containedEnvironment } from '@svc/sandbox/contained-environment.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import type { CapsuleSource } from './launch-host.ts';

/** Whose commands are looked for, and where. */
export interface CommandQuestion {
  readonly loaded: LoadedManifest;
  readonly env: Environment;
  readonly source: CapsuleSource;
}

/**
 * `W-RUN-003` for every listed command that is not installed: the model gets a tool for it that cannot work. For a task without a manifest
 * (`isAdhoc`) it names the flag.
 */
export function absentCommands(question: CommandQuestion & { readonly isAdhoc: boolean }): readonly Diagnostic[] {
  const names = question.loaded.manifest.capabilities.shell?.allow ?? [];
  const path = names.length === 0 ? '' : searchPath(question);
  return names.flatMap((name, index) => {
    const found = findProgram(name, path);
    if (found.kind === 'found') return [];
    const reason = `${name}, which cannot be run here: ${found.reason}`;
    if (question.isAdhoc)
      return [new Diagnostic('W-RUN-003', `--allow names ${reason}`, { hint: 'install it, or leave it out' })];
    const location = question.loaded.locate(['capabilities', 'shell', 'allow', index], 'value');
    const message = `capabilities.shell.allow lists ${reason}`;
    return [new Diagnostic('W-RUN-003', message, { location, hint: 'install it, or take it off the list' })];
  });
}

/** The `PATH` that commands will have. */
export function searchPath({ loaded, env, source }: CommandQuestion): string {
  const { PATH = '' } = containedEnvironment({
    accessibleWorkdir: join(source.root, 'workdir'),
    achieved: 'advisory',
    held: env,
    allow: loaded.manifest.capabilities.env?.allow ?? [],
  });
  return PATH;
}

/** Warns the operator of what the manifest declares and this version does not do (`W-RUN-002`). */
export function unavailableParts({ manifest, locate }: LoadedManifest): readonly Diagnostic[] {
  return manifest.artifacts.flatMap(({ config }, index) => {
    if (config === undefined) return [];
    const path: KeyPath = ['artifacts', index, 'config'];
    const message = `${renderKeyPath(path)} is declared, but not available in this version: it is handed to nobody`;
    return [new Diagnostic('W-RUN-002', message, { location: locate(path, 'key') })];
  });
}
