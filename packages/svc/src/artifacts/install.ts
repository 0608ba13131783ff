/** The command `svc install`: brings artifacts to this machine. */

import { resolve } from 'node:path';
import { Command } from 'commander';

import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { type ArtifactRef, type InstallTarget, parseInstallTarget, spell } from '@svc/artifacts/store/artifact-ref.ts';
import {
  installEntries,
  installOci,
  installPacked,
  installRef,
  type InstallRequest,
  installPath,
  installRelease,
} from '@svc/artifacts/store/install.ts';
import type { FoundArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { githubApiOf, ociAccessOf, type RegistryChoice } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { ociPrefix, spellOci } from '@svc/artifacts/manifest/oci-reference.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { DownloadView } from '../shown/transfer-view.ts';
import { interruptible } from '../command/stop-signals.ts';
import { rememberOwn } from '../command/known-projects.ts';
import { openProject, placesOf, type Project, lazySources, registryChoice } from '../command/project.ts';
import { createArrivalCheck, createCompileAhead, createFolderCheck } from './component-checks.ts';
import { packedComponent } from './plain-component.ts';

interface InstallOptions {
  readonly manifest: string;
  readonly global?: boolean;
  readonly registry?: string;
  readonly frozen?: boolean;
  readonly offline?: boolean;
  readonly acceptSigner?: boolean;
  readonly acceptTools?: boolean;
  readonly allowYanked?: boolean;
  readonly artifactManifest?: string;
  readonly json?: boolean;
}

interface InstalledRow extends ArtifactRef {
  readonly origin: string;
  readonly platform: string | null;
  readonly sha256: string;
}

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 24 },
  { title: 'VERSION', keeps: 7 },
  { title: 'FROM', keeps: 12 },
  { title: 'SHA256' },
];

/** `svc install`: what the manifest needs, or what one argument names, into a store (D1 "Command line", docs/cli.md "svc install"). */
export function installCommand(context: CommandContext): Command {
  return new Command('install')
    .description('Install what the manifest needs, or what is named, and record it in svc.lock.')
    .argument(
      '[what]',
      '<name>@<version>, github:<owner>/<repo>@<tag>, oci://<host>/<repository>:<tag>, or the path of an archive or a folder; all that the manifest needs when absent',
    )
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('-g, --global', 'install for the user instead of the project; svc.lock stays as it is')
    .option('--registry <which>', 'the address of a registry, the name of a configured source, or local')
    .option('--frozen', 'hold everything to svc.lock as it is, and write nothing to it')
    .option('--offline', 'never fetch an artifact')
    .option('--accept-signer', 'record who signs an artifact now in place of the one in svc.lock')
    .option('--accept-tools', 'record the list of a skill that lets more through than the one in svc.lock')
    .option('--allow-yanked', 'take versions too that were yanked and that svc.lock does not record')
    .option('--artifact-manifest <svc.yaml>', 'the svc.yaml to pack with a bare component from an OCI registry')
    .option('--json', 'write one JSON object per line')
    .action(async (what: string | undefined, options: InstallOptions, command: Command) => {
      if (options.artifactManifest !== undefined && what?.startsWith(ociPrefix) !== true) {
        command.error('error: --artifact-manifest is for a component that oci://… names');
      }
      if (options.frozen === true && (what !== undefined || options.global === true)) {
        command.error('error: --frozen is for all that the manifest needs, in its own store');
      }
      for (const [given, flag] of [
        [options.acceptSigner, '--accept-signer'],
        [options.acceptTools, '--accept-tools'],
      ] as const) {
        if (options.frozen !== true || given !== true) continue;
        command.error(`error: --frozen changes nothing in svc.lock, and ${flag} does`);
      }
      // The argument is looked at first: a wrong one is a mistake whatever the manifest says.
      const target = what === undefined ? null : parseInstallTarget(what);
      await interruptible(context, async (signal) => {
        write(await install(target, { options, context, signal }), options, context);
        if (options.global !== true) await rememberOwn(context, options.manifest);
      });
    });
}

interface InstallRun {
  readonly options: InstallOptions;
  readonly context: CommandContext;
  readonly signal: AbortSignal;
}

async function install(target: InstallTarget | null, run: InstallRun): Promise<readonly InstalledRow[]> {
  const { options, context, signal } = run;
  const choice = registryChoice(context, { flag: options.registry, signal });
  const view = new DownloadView(context, context.stderr.isTerminal);
  const request = await requestOf(target, { run, choice, view });
  const rows =
    target === null ? await installAll(request) : await installTarget(target, request, { run, choice, view });
  return rows.map(({ name, version, origin, platform, sha256 }) => {
    return { name, version, origin: view.sourceOf(spell({ name, version })) ?? origin, platform, sha256 };
  });
}

interface InstallParts {
  readonly run: InstallRun;
  readonly choice: RegistryChoice;
  readonly view: DownloadView;
}

async function requestOf(target: InstallTarget | null, { run, choice, view }: InstallParts): Promise<InstallRequest> {
  const { options, context } = run;
  const isGlobal = options.global === true;
  // For the user's store a project is needed only where its manifest says what to install.
  const project: Project =
    isGlobal && target !== null
      ? { ...placesOf(context, options.manifest), entries: [], manifestFile: options.manifest }
      : await openProject(context, options.manifest, target === null ? undefined : 'written');
  const compile = createCompileAhead(project);
  const onWarning = (warning: Diagnostic): void => void context.stderr.write(render([warning], context));
  const states = { allowsYanked: options.allowYanked === true, tellsDeprecated: true, onWarning };
  return {
    ...project,
    sources: options.offline === true ? () => [] : lazySources(choice),
    fetching: {
      observer: view,
      into: isGlobal ? 'user' : 'project',
      isFrozen: options.frozen === true,
      renewsSignatures: options.offline !== true,
      acceptSigner: options.acceptSigner === true,
      states,
      checkArtifact: createArrivalCheck(project),
    },
    prepare: async (artifact: FoundArtifact) => {
      if (run.signal.aborted) throw new Diagnostic('E-IO-003', 'the install was interrupted');
      view.say(`preparing ${spell(artifact.manifest)}`);
      await compile(artifact);
    },
    onSkills: async (...of) => {
      const { skillJudge } = await import('./skill-changes.ts');
      await skillJudge(context, options.acceptTools === true)(...of);
    },
    onStored: (stored) => view.say(`installed ${spell(stored)}`),
    onWarning,
  };
}

async function installAll(request: InstallRequest): Promise<readonly InstalledRow[]> {
  const artifacts = await installEntries(request);
  return artifacts.map(({ manifest, origin, platform, sha256 }) => {
    return { name: manifest.name, version: manifest.version, origin, platform, sha256 };
  });
}

async function installTarget(
  target: InstallTarget,
  request: InstallRequest,
  { run, choice }: InstallParts,
): Promise<readonly InstalledRow[]> {
  const { context } = run;
  switch (target.kind) {
    case 'artifact':
      return [await installRef(target.ref, request)];
    case 'github': {
      const { owner, repo } = target.release;
      const api = githubApiOf(`${owner}/${repo}`, choice);
      const installed = await installRelease(target.release, api, request);
      return installed.map(({ name, version, platform, sha256 }) => {
        return { name, version, origin: api.label, platform, sha256 };
      });
    }
    case 'oci': {
      const { reference } = target;
      const { artifactManifest } = run.options;
      const installed =
        artifactManifest === undefined
          ? await installOci(reference, ociAccessOf(choice), request)
          : await installPacked(packedComponent(reference, artifactManifest, { choice, cwd: context.cwd }), request);
      return [{ ...installed, origin: spellOci(reference) }];
    }
    case 'path': {
      const path = resolve(context.cwd, target.path);
      const env = loadEnvironment({ directory: path, process: context.env, useFile: false });
      return [await installPath({ path, folder: { env, checkArtifact: createFolderCheck(context.home) } }, request)];
    }
  }
}

function write(rows: readonly InstalledRow[], options: InstallOptions, context: CommandContext): void {
  if (options.json === true) {
    for (const { name, version, origin, platform, sha256 } of rows) {
      context.stdout.write(jsonLine({ name, version, origin, platform, sha256 }));
    }
    return;
  }
  if (rows.length === 0) {
    context.stderr.write(say`the manifest needs no artifact\n`);
    return;
  }
  const cells = rows.map((row) => [row.name, row.version, row.origin, row.sha256.slice(0, 12)]);
  context.stdout.write(renderTable(columns, cells, context.stdout));
}
