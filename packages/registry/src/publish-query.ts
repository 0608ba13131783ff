/** Checks the parameters of a publish or a download. */

import { isArtifactName, isArtifactVersion, isExactVersion } from '@svc/artifacts/manifest/names.ts';
import { type ArtifactRef, platformShape } from '@svc/artifacts/store/artifact-ref.ts';
import { packagings, type Packaging, decodeQuery } from '@svc/protocol/registry-messages.ts';
import { badInput, reservedVersion } from './refusals.ts';

export interface PublishQuery {
  readonly ref: ArtifactRef;
  readonly runtime: Packaging;
  /** Sorted and without repetition; empty for the generic file. */
  readonly platforms: readonly string[];
}

const maxPlatforms = 64;
const maxPlatform = 64;

/** Checks the query of a publish (D3 "Registry" publish, docs/protocol.md "The registry"). Throws `400`, or `422` for a reserved version. */
export function parsePublishQuery(query: string): PublishQuery {
  const values = parseQuery(query, ['name', 'version', 'runtime', 'platform']);
  const name = single(values, 'name');
  const version = single(values, 'version');
  if (!isArtifactName(name)) {
    throw badInput('invalid name', 'name is lowercase letters, digits and inner hyphens, at most 100.');
  }
  if (!isArtifactVersion(version)) {
    throw badInput(
      'invalid version',
      'version is letters, digits, dots, plus signs and hyphens, at most 100, beginning with a letter or digit and without "..".',
    );
  }
  if (!isExactVersion(version)) throw reservedVersion(version);
  return { ref: { name, version }, runtime: packaging(single(values, 'runtime')), platforms: platforms(values) };
}

/** A platform as `os-arch`; `400` for anything else. */
export function parsePlatform(text: string): string {
  if (platformShape.test(text) && text.length <= maxPlatform) return text;
  throw badInput('invalid platform', 'platform is os-arch, such as linux-x86_64, at most 64 characters.');
}

function single(values: ReadonlyMap<string, readonly string[]>, name: string): string {
  const [value, ...more] = values.get(name) ?? [];
  if (value === undefined) throw badInput(`missing ${name}`, `A publish names ${name}.`);
  if (more.length > 0) throw badInput(`invalid ${name}`, `A publish names ${name} once.`);
  return value;
}

function packaging(value: string): Packaging {
  const found = packagings.find((known) => known === value);
  if (found === undefined) throw badInput('invalid runtime', `runtime is one of ${packagings.join(', ')}.`);
  return found;
}

function platforms(values: ReadonlyMap<string, readonly string[]>): string[] {
  const named = new Set((values.get('platform') ?? []).map(parsePlatform));
  if (named.size > maxPlatforms)
    throw badInput('invalid platform', `At most ${maxPlatforms} platforms are named at once.`);
  return [...named].sort();
}

/** The parameters of a query. Throws `400` for one that cannot be decoded or holds any other than `known`. */
export function parseQuery(query: string, known: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const decoded = decodeQuery(query, known);
  if (decoded.kind === 'query') return decoded.values;
  if (decoded.kind === 'malformed-escape') throw badInput('invalid query', 'The query has a malformed percent escape.');
  throw badInput('unknown parameter', `The parameters here are ${known.join(', ')}.`);
}
