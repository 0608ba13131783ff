/** Reads the manifest and the registry that a command works with. */

import { dirname, resolve } from 'node:path';
import { arch, platform } from 'node:process';

import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import { remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import { declaredArtifacts } from '@svc/artifacts/manifest/declared-artifacts.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { decidesInstall } from '@svc/artifacts/store/build-archive.ts';
import { withDiscovered } from '@svc/artifacts/store/discovered-skills.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { AskingServer, StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { platformOf } from '@svc/artifacts/store/artifact-ref.ts';
import type { ArtifactSource } from '@svc/artifacts/store/installed-artifact.ts';
import {
  type RegistryChoice,
  type RegistryInUse,
  namedRegistry,
  registryInUse,
  sourceAt,
  sourcesOf,
} from '@svc/artifacts/store/sources/registry-in-use.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';

/** The artifacts that a manifest needs, and where to look for them. */
export interface Project extends StorePlaces {
  readonly entries: readonly ArtifactEntry[];
  /** The path that the user gave. */
  readonly manifestFile: string;
}

/**
 * Reads the manifest at a path for the commands that run nothing; its warnings go to stderr. It has no source beyond this machine. Its entries are with those that `skills.discover`
 * stands for, recorded or not, unless it is only `written`.
 */
export async function openProject(
  context: CommandContext,
  manifestPath: string,
  written?: 'written',
): Promise<Project> {
  const places = placesOf(context, manifestPath);
  const env = loadEnvironment({ directory: places.manifestDir, process: context.env, useFile: true });
  const file = resolve(context.cwd, manifestPath);
  const loaded = loadCapsuleManifest({ file, env, purpose: 'inspect', needs: decidesInstall });
  const { networkAllow } = lower(loaded).grants;
  const found = written === undefined ? await withDiscovered(loaded, places) : { loaded, warnings: [] };
  const warnings = [...loaded.warnings, ...found.warnings];
  if (warnings.length > 0) context.stderr.write(render(warnings, context));
  return { ...places, networkAllow, entries: declaredArtifacts(found.loaded.manifest), manifestFile: manifestPath };
}

/** What a manifest lists, for a command that goes on without one; empty where it is absent or cannot be understood. */
export function entriesIfReadable(context: CommandContext, manifestPath: string): readonly ArtifactEntry[] {
  const { manifestDir } = placesOf(context, manifestPath);
  try {
    const env = loadEnvironment({ directory: manifestDir, process: context.env, useFile: true });
    const file = resolve(context.cwd, manifestPath);
    return loadCapsuleManifest({ file, env, purpose: 'inspect', needs: decidesInstall }).manifest.artifacts;
  } catch (error) {
    if (error instanceof Diagnostic || error instanceof DiagnosticList) return [];
    throw error;
  }
}

/** Where the artifacts of the manifest at a path are looked for, whether there is such a manifest or not. */
export function placesOf({ cwd, home }: CommandContext, manifestPath: string): StorePlaces {
  return {
    manifestDir: dirname(resolve(cwd, manifestPath)),
    userHome: home,
    packageRoot: findPackageRoot(import.meta.filename),
    platform: platformOf({ platform, arch }),
    sources: () => [],
  };
}

/** What decides which registry a command talks to; `signal` ends its requests. */
export function registryChoice(
  context: CommandContext,
  { flag, signal }: { readonly flag: string | undefined; readonly signal: AbortSignal },
): RegistryChoice {
  const { env, home, stderr } = context;
  const onWarning = (warning: Diagnostic): void => void stderr.write(render([warning], context));
  const http = new HttpClient({ signal, proxyFor: (url) => proxyFor(url, env) });
  return { flag, env, home, http, signal, onWarning };
}

/**
 * The sources of the registry in use, found out when they are first needed, or the one that an entry names with `from`. What `svc.lock` names is not
 * asked where the operator chose `local`.
 */
export function lazySources(choice: RegistryChoice): StorePlaces['sources'] {
  let sources: readonly ArtifactSource[] | null = null;
  return (from, by = 'entry', asking = { manifestDir: choice.home, networkAllow: [] }) => {
    if (from === undefined) return (sources ??= sourcesOf(registryInUse(choice)));
    if (remoteServerOf(from) !== null) return remoteSources(from, asking, choice);
    return by === 'lock' && namedRegistry(choice) !== undefined ? [] : [sourceAt(from, choice)];
  };
}

async function remoteSources(
  from: string,
  asking: AskingServer,
  choice: RegistryChoice,
): Promise<readonly ArtifactSource[]> {
  const { remoteSource } = await import('./remote-source.ts');
  return [remoteSource(from, asking, choice)];
}

/** `E-REG-006` of a command that asks a registry where none is in use; `lacks` says what a source of another kind does not do. */
export function needsRegistry(
  registry: Exclude<RegistryInUse, { readonly kind: 'registry' }>,
  { lacks, what }: { readonly lacks: string; readonly what: string },
): Diagnostic {
  const why = registry.kind === 'local' ? 'no registry is in use' : `${registry.source.name} ${lacks}`;
  return new Diagnostic('E-REG-006', `${why}: ${what}`, {
    hint: 'name a registry with --registry, SVC_REGISTRY_URL or registry.default of ~/.svc/config.yaml',
  });
}
