/** The command `svc build`: packs a folder into an archive. */

import { resolve, join } from 'node:path';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';

import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { buildArchive } from '@svc/artifacts/store/build-archive.ts';
import { parseAnyManifest } from '@svc/artifacts/manifest/artifact-manifest.ts';
import { DirectoryContent } from '@svc/artifacts/store/directory-content.ts';
import {
  componentFile,
  componentSource,
  readManifestText,
  requiredFile,
} from '@svc/artifacts/store/inspect-content.ts';
import { manifestFile } from '@svc/artifacts/store/installed-artifact.ts';
import { buildComponent, type BuiltComponent } from '@svc/components/builder/build-component.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { checkArtifact } from '@svc/session/tools/argument-check.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { createFolderCheck } from './component-checks.ts';

interface BuildOptions {
  readonly out: string;
  readonly json?: boolean;
  readonly check?: boolean;
}

/**
 * `svc build [dir]`: packs the folder of an artifact or a capsule, its component built first from `component.ts`; the path of the archive is what stdout
 * gets (docs/cli.md "svc build").
 */
export function buildCommand(context: CommandContext): Command {
  return new Command('build')
    .description('Build component.ts where there is one, and pack the folder into <name>-<version>.zip.')
    .argument('[dir]', 'the folder with svc.yaml', '.')
    .option('--out <dir>', 'where the archive goes', '.')
    .option('--json', 'write one JSON object')
    .option('--check', 'build component.ts again and compare it with component.wasm; write nothing')
    .action(async (dir: string, options: BuildOptions) => {
      const directory = resolve(context.cwd, dir);
      if (options.check === true) {
        const warnings = await checkAgainstSource(directory);
        if (warnings.length > 0) context.stderr.write(render(warnings, context));
        context.stderr.write(say`component.wasm is what component.ts builds\n`);
        return;
      }
      const repeatable = await buildFromSource(directory);
      const {
        path,
        sha256,
        bytes,
        ref,
        kind,
        warnings: packing,
      } = await buildArchive({
        directory,
        outDirectory: resolve(context.cwd, options.out),
        env: loadEnvironment({ directory, process: context.env, useFile: true }),
        checkArtifact: createFolderCheck(context.home),
      });
      const warnings = [...repeatable, ...packing];
      if (warnings.length > 0) context.stderr.write(render(warnings, context));
      if (options.json === true) {
        const built = { path, name: ref.name, version: ref.version, kind, sha256, bytes };
        context.stdout.write(jsonLine(built));
        return;
      }
      context.stderr.write(say`packed ${kind} ${ref.name}@${ref.version}, ${bytes} bytes, sha256 ${sha256}\n`);
      context.stdout.write(exactLine`${path}\n`);
    });
}

/**
 * Makes `component.wasm` of the folder of a tool, driver or hook anew where the folder holds `component.ts`; does nothing elsewhere. What is
 * wrong with the manifest or the source is thrown, and the file is then as it was. Answers what is to be said of it (`W-ART-002`).
 */
async function buildFromSource(directory: string): Promise<readonly Diagnostic[]> {
  const built = await builtComponent(directory);
  if (built === null) return [];
  await replaceFile(join(directory, componentFile), [built.component], { mode: 0o666, isDurable: false });
  return built.warnings;
}

/**
 * Builds the component of the folder again and compares it with `component.wasm`; writes nothing. `E-ART-013` when they differ, or when
 * the folder lacks one of the two files.
 */
async function checkAgainstSource(directory: string): Promise<readonly Diagnostic[]> {
  const path = join(directory, componentFile);
  const built = await builtComponent(directory);
  if (built === null)
    throw new Diagnostic('E-ART-013', `${directory} has no component that is built from ${componentSource}`);
  if (!existsSync(path)) throw new Diagnostic('E-ART-013', `${path} is not there`);
  const [wanted, found] = [sha256Hex(built.component), sha256Hex(await readFile(path))];
  if (wanted === found) return built.warnings;
  const differs = new Diagnostic('E-ART-013', `${path} has the hash ${found}, and ${componentSource} builds ${wanted}`);
  throw new DiagnosticList([differs, ...built.warnings]);
}

/** Returns null where there is nothing to build: the folder of a capsule or a skill, or one without the source. */
async function builtComponent(directory: string): Promise<BuiltComponent | null> {
  if (!existsSync(join(directory, componentSource))) return null;
  const content = new DirectoryContent(directory);
  await content.include(manifestFile);
  const text = await readManifestText(content);
  const found = parseAnyManifest(text, join(directory, manifestFile));
  if (found.kind === 'capsule') return null;
  const { manifest } = found;
  if (manifest.runtime === 'skill' || requiredFile(manifest) !== componentFile) return null;
  await checkArtifact(manifest);
  const packageRoot = findPackageRoot(import.meta.filename);
  return await buildComponent({ directory, world: manifest.runtime, packageRoot });
}
