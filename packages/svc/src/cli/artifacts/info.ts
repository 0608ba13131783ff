/** The command `svc info`: tells what a registry, or this machine, knows of an artifact, and what is in one version of it. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';

import { isArtifactName } from '@svc/artifacts/manifest/names.ts';
import type { ArtifactManifest } from '@svc/artifacts/manifest/schema.ts';
import { type ArtifactRef, parseArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import {
  type Candidate,
  type Candidates,
  listedBy,
  noVersion,
  storedHere,
} from '@svc/artifacts/store/choose-version.ts';
import { componentFile, requiredFile } from '@svc/artifacts/store/inspect-content.ts';
import type { FoundArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/locate.ts';
import { findRef } from '@svc/artifacts/store/resolve.ts';
import { registryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { compareVersions } from '@svc/artifacts/store/version-ranges.ts';
import { interfaceNames } from '@svc/components/compiler/interface-names.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { PublishedVersion } from '@svc/protocol/version-states.ts';
import type { CommandContext } from '../command-context.ts';
import { lazySources, placesOf, registryChoice } from '../project.ts';
import { interruptible } from '../stop-signals.ts';
import { type Column, renderTable } from '../table.ts';
import { jsonLine, say } from '../terminal/shown.ts';
import { shownBytes } from '../trace/shown-values.ts';
import { DownloadView } from '../transfer-view.ts';

interface InfoOptions {
  readonly manifest: string;
  readonly registry?: string;
  readonly json?: boolean;
}

const columns: readonly Column[] = [
  { title: 'VERSION', keeps: 10 },
  { title: 'STATE', keeps: 10 },
  { title: 'PLATFORM', keeps: 8 },
  { title: 'SIZE' },
  { title: 'SHA256' },
  { title: 'PUBLISHED', keeps: 10 },
  { title: 'BY', keeps: 8 },
  { title: 'REASON', keeps: 20 },
];

/** `svc info <name>[@<version>]` (docs/cli.md "svc info"). */
export function infoCommand(context: CommandContext): Command {
  return new Command('info')
    .description('Show the versions of an artifact and their states, or what is in one version.')
    .argument('<what>', '<name>, or <name>@<version>')
    .option('--registry <which>', 'the address of a registry, the name of a configured source, or local')
    .option('--manifest <path>', 'the manifest of the project whose store is looked into, too', './svc.yaml')
    .option('--json', 'write one JSON object for each version')
    .action(async (what: string, options: InfoOptions) => {
      const ref = parseWhat(what);
      await interruptible(context, async (signal) => {
        const places = placesOf(context, options.manifest);
        const choice = registryChoice(context, { flag: options.registry, signal });
        const registry = registryInUse(choice);
        const listed = registry.kind === 'registry' ? await listedBy(registry.client, ref.name) : null;
        const candidates = listed ?? storedHere(places, ref.name);
        if (ref.version === null) {
          showVersions(ref.name, candidates, { options, context, platform: places.platform });
          return;
        }
        const view = new DownloadView(context, context.stderr.isTerminal);
        const asked = { ...places, sources: lazySources(choice), fetching: { observer: view } };
        const candidate = candidates.all.find(({ version }) => version === ref.version) ?? null;
        await showOne({ name: ref.name, version: ref.version }, candidate, { options, context, places: asked });
      });
    });
}

/** `E-ART-008`, `E-REG-004` for a reserved version. */
function parseWhat(what: string): { readonly name: string; readonly version: string | null } {
  return isArtifactName(what) ? { name: what, version: null } : parseArtifactRef(what);
}

interface Showing {
  readonly options: InfoOptions;
  readonly context: CommandContext;
}

function showVersions(
  name: string,
  candidates: Candidates,
  { options, context, platform }: Showing & { readonly platform: string },
): void {
  if (candidates.all.length === 0) throw noVersion(name, '*', candidates, platform);
  const all = candidates.all.toSorted((one, other) => compareVersions(other.version, one.version));
  if (options.json === true) {
    for (const candidate of all) context.stdout.write(jsonLine(objectOf(name, candidate)));
    return;
  }
  const cells = all.flatMap(({ version, listed }) => rowsOf(version, listed));
  context.stdout.write(renderTable(columns, cells, context.stdout));
}

/** A row for each archive of a version. */
function rowsOf(version: string, listed: PublishedVersion | null): string[][] {
  if (listed === null) return [[version, '-', '-', '-', '-', '-', '-', '-']];
  return listed.archives.map(({ platforms, size, sha256, published_at, published_by }) => [
    version,
    listed.state,
    platforms.length === 0 ? '-' : platforms.map((pair) => pair.join('-')).join(' '),
    shownBytes(size),
    sha256.slice(0, 12),
    published_at?.slice(0, 10) ?? '-',
    published_by ?? '-',
    listed.reason ?? '-',
  ]);
}

function objectOf(name: string, { version, listed }: Candidate): Record<string, unknown> {
  const { state = null, reason = null, archives = null } = listed ?? {};
  return { name, version, state, reason, archives };
}

/** What an archive says of itself. */
interface Content {
  readonly kind: string;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly inputSchema: unknown;
  /** Of a component: interfaces that it imports and exports; null for what is none. */
  readonly interfaces: readonly string[] | null;
}

async function showOne(
  ref: ArtifactRef,
  candidate: Candidate | null,
  { options, context, places }: Showing & { readonly places: StorePlaces },
): Promise<void> {
  const { content, sha256, platform } = await inspect(ref, places);
  const listed = candidate?.listed ?? null;
  if (options.json === true) {
    const { kind, description, tags, inputSchema, interfaces } = content;
    const known = objectOf(ref.name, candidate ?? { version: ref.version, listed: null });
    const said = { kind, description, tags, input_schema: inputSchema, interfaces, platform, sha256 };
    context.stdout.write(jsonLine({ ...known, ...said }));
    return;
  }
  const lines: (readonly [string, string])[] = [
    ['artifact', spell(ref)],
    ['kind', content.kind],
    ['platform', platform ?? 'any'],
    ['sha256', sha256],
    ...(content.description === null ? [] : [['description', content.description] as const]),
    ...(content.tags.length === 0 ? [] : [['tags', content.tags.join(' ')] as const]),
    ...(listed === null ? [] : [['state', listed.state] as const]),
    ...(listed === null || listed.reason === null ? [] : [['reason', listed.reason] as const]),
    ...(content.interfaces ?? []).map((name) => ['uses', name] as const),
    ...(content.inputSchema === null ? [] : [['input', JSON.stringify(content.inputSchema)] as const]),
  ];
  for (const [key, value] of lines) context.stdout.write(say`${key.padEnd(11)}  ${value}\n`);
}

interface Inspected {
  readonly content: Content;
  readonly sha256: string;
  readonly platform: string | null;
}

/** A version that this machine does not have is brought into a store that is gone afterwards: looking installs nothing. */
async function inspect(ref: ArtifactRef, places: StorePlaces): Promise<Inspected> {
  const aside = await mkdtemp(join(tmpdir(), 'svc-info-'));
  try {
    const found = await findHere(ref, places);
    const { stored, artifact } = found ?? (await findRef(ref, { ...places, manifestDir: aside }));
    const { sha256, platform } = stored;
    return { content: await contentOf(artifact), sha256, platform };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Null where no local place has it. */
async function findHere(ref: ArtifactRef, places: StorePlaces): Promise<Awaited<ReturnType<typeof findRef>> | null> {
  try {
    return await findRef(ref, { ...places, sources: () => [] });
  } catch (error) {
    if (error instanceof Diagnostic && error.code === 'E-REG-001') return null;
    throw error;
  }
}

async function contentOf(artifact: FoundArtifact | null): Promise<Content> {
  if (artifact === null) {
    return { kind: 'capsule', description: null, tags: [], inputSchema: null, interfaces: null };
  }
  const { runtime: kind, description, tags, input_schema: inputSchema = null } = artifact.manifest;
  return {
    kind,
    description: description === '' ? null : description,
    tags,
    inputSchema,
    interfaces: isComponent(artifact.manifest) ? interfaceNames(await artifact.read(componentFile)) : null,
  };
}

function isComponent(manifest: ArtifactManifest): boolean {
  return requiredFile(manifest) === componentFile;
}
