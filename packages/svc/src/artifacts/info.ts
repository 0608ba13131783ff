/** The command `svc info`: shows what a registry, and this machine, know of an artifact, and what is in one version of it. */

import { Command } from 'commander';

import { chosenTools } from '@svc/artifacts/manifest/chosen-tools.ts';
import { isArtifactName } from '@svc/artifacts/manifest/names.ts';
import { parseArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import {
  type Candidate,
  type Candidates,
  listedBy,
  listsNoVersions,
  noArtifact,
  storedHere,
} from '@svc/artifacts/store/choose-version.ts';
import { copiesHere, type LocalCopy } from '@svc/artifacts/store/list-stored.ts';
import { type RegistryInUse, registryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { compareVersions } from '@svc/artifacts/store/version-ranges.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shownBytes } from '@svc/kit/shown-values.ts';
import type { PublishedArchive } from '@svc/protocol/version-states.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { entriesIfReadable, lazySources, placesOf, registryChoice } from '../command/project.ts';
import { interruptible } from '../command/stop-signals.ts';
import { DownloadView } from '../shown/transfer-view.ts';
import { lookInside } from './look-inside.ts';
import { linesOf, objectOf } from './shown-version.ts';

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
  { title: 'SIGNED', keeps: 6 },
  { title: 'HERE', keeps: 7 },
  { title: 'PUBLISHED', keeps: 10 },
  { title: 'BY', keeps: 8 },
  { title: 'REASON', keeps: 20 },
];

/** `svc info <name>[@<version>]` (docs/cli.md "svc info"). */
export function infoCommand(context: CommandContext): Command {
  return new Command('info')
    .description('Show the versions of an artifact, their states and signatures, or what is in one version.')
    .argument('<what>', '<name>, <name>@<version>, or the folder of a skill, as ./<folder>')
    .option('--registry <which>', 'the address of a registry, the name of a configured source, or local')
    .option('--manifest <path>', 'the manifest of the project whose store is looked into, too', './svc.yaml')
    .option('--json', 'write one JSON object for each version')
    .action(async (what: string, options: InfoOptions) => {
      if (/^\.{0,2}\/|^\.{1,2}$/.test(what)) {
        return await (await import('./skill-info.ts')).showSkill(what, options, context);
      }
      const { name, version } = parseWhat(what);
      await interruptible(context, async (signal) => {
        const places = placesOf(context, options.manifest);
        const choice = registryChoice(context, { flag: options.registry, signal });
        const registry = registryInUse(choice);
        const copies = copiesHere(places, name);
        const { listed, fault } = await listOf(name, registry, signal);
        const sayUnknown = (): void => {
          if (fault === null) return;
          context.stderr.write(say`what the registry in use has of ${name} is not known: ${fault.message}\n`);
        };
        if (version === null) {
          // What is here can be shown without the registry.
          if (fault !== null && copies.length === 0) throw fault;
          sayUnknown();
          const candidates = withLocal(listed ?? storedHere(places, name), copies);
          if (candidates.all.length === 0) {
            const index = async (): Promise<readonly { readonly name: string }[]> =>
              registry.kind === 'registry' ? await registry.client.index() : [];
            throw await noArtifact(name, candidates, places, index);
          }
          showVersions(name, candidates, copies, { options, context });
          return;
        }
        const view = new DownloadView(context, context.stderr.isTerminal);
        const asked = { ...places, sources: lazySources(choice), fetching: { observer: view } };
        const entries = entriesIfReadable(context, options.manifest);
        const entry = entries.find((each) => each.name === name && each.version === version);
        const inside = await lookInside({ name, version, from: entry?.from }, asked);
        if (fault?.code === 'E-IO-003') sayUnknown();
        const known = listed?.all.find((candidate) => candidate.version === version)?.listed ?? null;
        const shown = {
          known,
          inside,
          copies: copies.filter((copy) => copy.version === version),
          renamed: chosenTools(entry ?? {}).names,
        };
        if (options.json === true) context.stdout.write(jsonLine(objectOf({ name, version }, shown)));
        else for (const line of linesOf({ name, version }, shown, context)) context.stdout.write(line);
      });
    });
}

interface RegistryList {
  /** It is null where the registry in use has no such artifact, or keeps no lists. */
  readonly listed: Candidates | null;
  /** Why nothing is known of it: it does not answer (`E-IO-003`), or lists no versions (`E-REG-006`). */
  readonly fault: Diagnostic | null;
}

async function listOf(name: string, registry: RegistryInUse, signal: AbortSignal): Promise<RegistryList> {
  if (registry.kind === 'local') return { listed: null, fault: null };
  if (registry.kind !== 'registry') return { listed: null, fault: listsNoVersions(registry.source, name) };
  try {
    return { listed: await listedBy(registry.client, name), fault: null };
  } catch (error) {
    if (error instanceof Diagnostic && error.code === 'E-IO-003' && !signal.aborted) {
      return { listed: null, fault: error };
    }
    throw error;
  }
}

/** `E-ART-008`, `E-REG-004` for a reserved version. */
function parseWhat(what: string): { readonly name: string; readonly version: string | null } {
  return isArtifactName(what) ? { name: what, version: null } : parseArtifactRef(what);
}

/** Adds the versions that only this machine has: what comes with `svc` is in no registry. */
function withLocal({ where, all }: Candidates, copies: readonly LocalCopy[]): Candidates {
  const listed = new Set(all.map(({ version }) => version));
  const local = new Set(copies.map(({ version }) => version).filter((version) => !listed.has(version)));
  return { where, all: [...all, ...[...local].map((version) => ({ version, listed: null }))] };
}

interface Showing {
  readonly options: InfoOptions;
  readonly context: CommandContext;
}

function showVersions(
  name: string,
  candidates: Candidates,
  copies: readonly LocalCopy[],
  { options, context: { stdout, stderr } }: Showing,
): void {
  const all = candidates.all.toSorted((one, other) => compareVersions(other.version, one.version));
  const copiesOf = ({ version }: Candidate): readonly LocalCopy[] => copies.filter((copy) => copy.version === version);
  if (options.json === true) {
    for (const each of all) {
      const { version, listed: known } = each;
      stdout.write(jsonLine(objectOf({ name, version }, { known, inside: null, copies: copiesOf(each) })));
    }
    return;
  }
  stdout.write(
    renderTable(
      columns,
      all.flatMap((each) => rowsOf(each, copiesOf(each))),
      stdout,
    ),
  );
  const [highest] = all;
  if (!stderr.isTerminal || highest === undefined) return;
  stderr.write(exactLine`what is in one: svc info ${spell({ name, version: highest.version })}\n`);
}

/** A row for each archive that the registry lists, then one for each other archive on this machine. */
function rowsOf({ version, listed }: Candidate, copies: readonly LocalCopy[]): string[][] {
  const archives = listed?.archives ?? [];
  const published = archives.map((archive) => [
    version,
    listed?.state ?? '-',
    platformsOf(archive),
    shownBytes(archive.size),
    archive.sha256.slice(0, 12),
    shownSignatures(archive.signatures),
    copies.find(({ sha256 }) => sha256 === archive.sha256)?.origin ?? '-',
    archive.published_at?.slice(0, 10) ?? '-',
    archive.published_by ?? '-',
    listed?.reason ?? '-',
  ]);
  const others = copies.filter(({ sha256 }) => !archives.some((archive) => archive.sha256 === sha256));
  const local = others.map(({ platform, bytes, sha256, origin, signatures }) => [
    version,
    '-',
    platform ?? '-',
    bytes === null ? '-' : shownBytes(bytes),
    sha256.slice(0, 12),
    // Its source may have some that nobody has asked for, and what comes with svc is not signed on its own.
    origin === 'bundled' || signatures === 0 ? '-' : shownSignatures(signatures),
    origin,
    '-',
    '-',
    '-',
  ]);
  return [...published, ...local];
}

function platformsOf({ platforms }: PublishedArchive): string {
  return platforms.length === 0 ? '-' : platforms.map((pair) => pair.join('-')).join(' ');
}

/** How many there are; `svc info` of one version shows whose they are, since that takes its bytes. */
function shownSignatures(count: number | null): string {
  if (count === null) return '-';
  return count === 0 ? 'no' : `${count}`;
}
