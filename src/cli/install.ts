import { Command } from 'commander';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { type ArtifactRef, parseInstallTarget, type ReleaseRef, spell } from '../store/artifact-ref.ts';
import { installEntries, installRef } from '../store/install.ts';
import type { FoundArtifact } from '../store/installed-artifact.ts';
import type { CommandContext } from './command-context.ts';
import { createCompileAhead } from './compile-ahead.ts';
import { openProject, type Project } from './project.ts';
import { renderTable } from './table.ts';

interface InstallOptions {
  readonly manifest: string;
  readonly json?: boolean;
}

interface InstalledRow extends ArtifactRef {
  readonly origin: string;
  readonly platform: string | null;
  readonly sha256: string;
}

/** `svc install`: the artifacts of the manifest, or one by name, into the store of the project (D1 "Command line"). */
export function installCommand(context: CommandContext): Command {
  return new Command('install')
    .description('Install the artifacts of the manifest, or one artifact, and record them in svc.lock.')
    .argument('[artifact]', '<name>@<version>; all that the manifest needs when absent')
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('--json', 'write one JSON object per line')
    .action(async (artifact: string | undefined, options: InstallOptions) => {
      // The argument is looked at first: a wrong one is a mistake whatever the manifest says.
      const target = artifact === undefined ? null : parseInstallTarget(artifact);
      if (target?.kind === 'github') throw noGithubSource(target.release);
      const project = openProject(context, options.manifest);
      write(await install(target?.ref ?? null, project, context), options, context);
    });
}

async function install(
  ref: ArtifactRef | null,
  project: Project,
  context: CommandContext,
): Promise<readonly InstalledRow[]> {
  const say = (text: string): void => {
    if (context.stderrIsTerminal) context.stderr.write(`${text}\n`);
  };
  const compile = createCompileAhead(project);
  const request = {
    ...project,
    prepare: async (artifact: FoundArtifact) => {
      say(`preparing ${spell(artifact.manifest)}`);
      await compile(artifact);
    },
    onStored: (stored: ArtifactRef) => say(`installed ${spell(stored)}`),
  };
  if (ref !== null) return [await installRef(ref, request)];
  const artifacts = await installEntries(request);
  return artifacts.map(({ manifest, origin, platform, sha256 }) => {
    return { name: manifest.name, version: manifest.version, origin, platform, sha256 };
  });
}

function write(rows: readonly InstalledRow[], options: InstallOptions, context: CommandContext): void {
  if (options.json === true) {
    for (const { name, version, origin, platform, sha256 } of rows) {
      context.stdout.write(`${JSON.stringify({ name, version, origin, platform, sha256 })}\n`);
    }
    return;
  }
  if (rows.length === 0) {
    context.stderr.write('the manifest needs no artifact\n');
    return;
  }
  const cells = rows.map((row) => [row.name, row.version, row.origin, row.sha256.slice(0, 12)]);
  context.stdout.write(renderTable(['NAME', 'VERSION', 'FROM', 'SHA256'], cells));
}

function noGithubSource({ owner, repo, tag }: ReleaseRef): Diagnostic {
  return new Diagnostic(
    'E-REG-001',
    `cannot install github:${owner}/${repo}@${tag}: this version of svc has no source that reads GitHub releases`,
    { hint: 'download the archive and give its entry in the manifest a source: with the path of the file' },
  );
}
