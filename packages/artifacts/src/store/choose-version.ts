/** Chooses a version of an artifact among those that a registry, or this machine, has. */

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { PublishedVersion } from '@svc/protocol/version-states.ts';
import { isArtifactName } from '../manifest/names.ts';
import type { ArtifactSource, FetchedArchive } from './installed-artifact.ts';
import { storedNames, storedVersions } from './list-stored.ts';
import { localPlaces } from './store-places.ts';
import type { StorePlaces } from './store-places.ts';
import { allows, compareVersions, highest } from './version-ranges.ts';

/** A version that can be chosen. `listed` is null where only this machine was asked. */
export interface Candidate {
  readonly version: string;
  readonly listed: PublishedVersion | null;
}

/** What there is of an artifact, and who said so. */
export interface Candidates {
  /** For messages: `the registry https://…`, or the stores of this machine. */
  readonly where: string;
  readonly all: readonly Candidate[];
}

/** What a source lists of an artifact; null when it has none, or keeps no list. */
export async function listedBy(source: ArtifactSource, name: string): Promise<Candidates | null> {
  const versions = (await source.versions?.(name)) ?? null;
  if (versions === null) return null;
  return { where: source.name, all: versions.map((listed) => ({ version: listed.version, listed })) };
}

/** What is bundled and in the stores of project and user. */
export function storedHere(places: StorePlaces, name: string): Candidates {
  const versions = new Set(localPlaces(places).flatMap(({ root }) => storedVersions(root, name)));
  return { where: 'this machine', all: [...versions].map((version) => ({ version, listed: null })) };
}

/** Whether a version may be chosen anew on this platform: it is neither yanked nor blocked, and there is an archive for it. */
function isOffered({ listed }: Candidate, platform: string): boolean {
  if (listed === null) return true;
  const isFree = listed.state === 'active' || listed.state === 'deprecated';
  return isFree && listed.archives.some(({ platforms }) => platforms.length === 0 || hasPlatform(platforms, platform));
}

function hasPlatform(pairs: readonly (readonly [string, string])[], platform: string): boolean {
  return pairs.some((pair) => pair.join('-') === platform);
}

/** The archive of a listed version that this machine gets: the variant for its platform, else the generic file. Returns null where none is listed. */
export function archiveFor(
  { listed }: Candidate,
  platform: string,
): { readonly platform: string | null; readonly sha256: string; readonly bytes: number } | null {
  const archives = listed?.archives ?? [];
  const variant = archives.find(({ platforms }) => hasPlatform(platforms, platform));
  const archive = variant ?? archives.find(({ platforms }) => platforms.length === 0);
  if (archive === undefined) return null;
  return { platform: variant === undefined ? null : platform, sha256: archive.sha256, bytes: archive.size };
}

/** The highest version that is offered and that a range allows, deprecated or not; null without one. */
export function chooseVersion({ all }: Candidates, range: string, platform: string): Candidate | null {
  const offered = all.filter((candidate) => isOffered(candidate, platform));
  const best = highest(
    range,
    offered.map(({ version }) => version),
  );
  return offered.find(({ version }) => version === best) ?? null;
}

/** `E-REG-006` for a source of a kind that has no such list. */
export function listsNoVersions({ name: source }: ArtifactSource, name: string): Diagnostic {
  return new Diagnostic('E-REG-006', `${source} lists no versions`, {
    hint: `name an exact version: ${name}@<version>`,
  });
}

const maxNamed = 5;

/** `E-REG-001` for an artifact that is not there at all, with the nearest name among those of this machine and of an index, where that can be read. */
export async function noArtifact(
  name: string,
  { where }: Candidates,
  places: StorePlaces,
  index: () => Promise<readonly { readonly name: string }[]>,
): Promise<Diagnostic> {
  const here = localPlaces(places).flatMap(({ root }) => storedNames(root));
  const published = await index().catch((error: unknown) => {
    if (error instanceof Diagnostic) return [];
    throw error;
  });
  const known = [...here, ...published.map((entry) => entry.name).filter((each) => isArtifactName(each))];
  return new Diagnostic('E-REG-001', `${where} has no artifact ${name}`, {
    hint: didYouMean(name, known) ?? 'check the name; svc search lists what there is',
  });
}

/** `E-REG-028` */
export function noVersion(name: string, range: string, { where, all }: Candidates, platform: string): Diagnostic {
  const allowed = all.filter(({ version }) => allows(range, version));
  const unfit = allowed.map(({ version, listed }) => `${version} is ${whyNot(listed, platform)}`);
  const newest = all
    .map(({ version }) => version)
    .toSorted((one, other) => compareVersions(other, one))
    .slice(0, maxNamed);
  const what = unfit.length === 0 ? '' : `: ${unfit.slice(0, maxNamed).join(', ')}`;
  return new Diagnostic('E-REG-028', `${where} has no version of ${name} to choose for ${range}${what}`, {
    hint: `the newest versions are ${newest.join(', ')}; svc info ${name} lists all`,
  });
}

function whyNot(listed: PublishedVersion | null, platform: string): string {
  if (listed === null || listed.state === 'active' || listed.state === 'deprecated') return `not for ${platform}`;
  return listed.state;
}

/**
 * A source whose downloads have to be what its list of versions says: `E-REG-002` before anything is stored where a registry lists one hash or size
 * and serves another.
 */
export function heldToList(source: ArtifactSource, { version, listed }: Candidate): ArtifactSource {
  if (listed === null) return source;
  return {
    name: source.name,
    ...(source.versions === undefined ? {} : { versions: async (name) => (await source.versions?.(name)) ?? null }),
    ...(source.signatures === undefined
      ? {}
      : { signatures: async (archive) => (await source.signatures?.(archive)) ?? [] }),
    fetch: async (ref, platform, held) => {
      const fetched = await source.fetch(ref, platform, held);
      if (fetched === null || ref.version !== version) return fetched;
      const fault = unlisted(fetched, listed, source.name);
      if (fault === null) return fetched;
      fetched.discard();
      throw fault;
    },
  };
}

function unlisted(
  { sha256, size }: FetchedArchive,
  { version, archives }: PublishedVersion,
  by: string,
): Diagnostic | null {
  const same = archives.find((archive) => archive.sha256 === sha256);
  if (same !== undefined && (size === null || size === same.size)) return null;
  const served = same === undefined ? `sha256 ${sha256 ?? 'of no name'}` : `${size} bytes`;
  const message = `${by} serves ${version} with ${served}, which its own list of versions does not have`;
  return new Diagnostic('E-REG-002', message, { hint: 'ask who runs the registry; nothing was stored' });
}
