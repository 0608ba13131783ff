import { resolve } from 'node:path';
import { Command } from 'commander';

import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { buildArchive } from '@svc/artifacts/store/build-archive.ts';
import { checkArtifact } from './check-artifact.ts';
import type { CommandContext } from './command-context.ts';
import { buildFromSource, checkAgainstSource } from './component-source.ts';
import { render } from './render-failure.ts';
import { exactLine, jsonLine, say } from './terminal/shown.ts';

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
        checkArtifact,
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
