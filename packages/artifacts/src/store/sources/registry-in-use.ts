/** Finds out which registry a command talks to. */

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { endpointFault } from '@svc/kit/net/endpoint.ts';
import type { Environment } from '@svc/kit/environment.ts';
import type { HttpClient } from '@svc/kit/net/http-client.ts';
import {
  parseArtifactPlace,
  parsePinnedFolder,
  type RepositoryFolder,
  spellFolder,
} from '../../manifest/artifact-place.ts';
import { loadUserConfig, type ConfiguredSource, registryAddressFault, type UserConfig } from '../../manifest/config.ts';
import type { ArtifactSource } from '../installed-artifact.ts';
import { ociAddress, ociAddressFault, ociPrefix, type OciRepositoryName } from '../../manifest/oci-reference.ts';
import { GithubApi, GithubSource } from './github-source.ts';
import { findLogin, loginOfToken } from './oci/logins.ts';
import { type OciAccess, OciPlaceSource, OciSource } from './oci/oci-source.ts';
import { RegistrySource } from './registry-source.ts';

/** Where `svc` reads the registry in use from: never the `.env` of a workspace, which could send a key elsewhere. */
export interface RegistryChoice {
  /** `--registry`: an address, the name of a configured source, or `local`. */
  readonly flag: string | undefined;
  /** The process environment. */
  readonly env: Environment;
  readonly home: string;
  readonly http: HttpClient;
  /** Aborted when the command is interrupted. */
  readonly signal: AbortSignal;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** The one registry that svc asks. */
export type RegistryInUse =
  | { readonly kind: 'local' }
  | { readonly kind: 'registry'; readonly client: RegistrySource }
  | { readonly kind: 'github'; readonly source: GithubSource }
  | { readonly kind: 'oci'; readonly source: OciSource };

/**
 * The flag, else `SVC_REGISTRY_URL`, else `registry.default` of the user's configuration, else local (docs/installing.md "The registry in use").
 * `E-REG-006` for an unknown name, and the error of the configuration when svc has to read it.
 */
export function registryInUse(choice: RegistryChoice): RegistryInUse {
  const named = namedRegistry(choice);
  if (named === 'local') return { kind: 'local' };
  const config = configOf(choice);
  if (named === undefined) {
    return config.defaultSource === undefined ? { kind: 'local' } : openSource(config.defaultSource, config, choice);
  }
  const byName = config.sources.find(({ name }) => name === named);
  if (byName !== undefined) return openSource(byName, config, choice);
  if (named.startsWith(ociPrefix)) return openOci(named, config, choice);
  const names = [...config.sources.map(({ name }) => name), 'local'];
  const url = parseAddress(named, choice.flag === undefined ? 'SVC_REGISTRY_URL' : '--registry', names);
  const byUrl = config.sources.find((source) => source.type === 'registry' && source.url === url);
  return openSource(byUrl ?? { type: 'registry', name: url, url, token: () => undefined }, config, choice);
}

/** The registry that the operator named for this command: an address, the name of a source, or `local`. */
export function namedRegistry({ flag, env }: RegistryChoice): string | undefined {
  return flag ?? (valueOf(env, 'SVC_REGISTRY_URL') || undefined);
}

/** The sources that a launch or an install asks for artifacts that are missing on this machine. */
export function sourcesOf(registry: RegistryInUse): readonly ArtifactSource[] {
  switch (registry.kind) {
    case 'local':
      return [];
    case 'registry':
      return [registry.client];
    case 'github':
    case 'oci':
      return [registry.source];
  }
}

/** The source that `from` of an entry names, whatever registry is in use. */
export function sourceAt(from: string, choice: RegistryChoice): ArtifactSource {
  const place = parseArtifactPlace(from);
  if (place === null || place.kind === 'mcp') throw new Error('the place of an artifact was not checked');
  if (place.kind === 'oci') return new OciPlaceSource(place.at, ociAccessOf(choice));
  if (place.kind === 'folder') return folderSource(place.at, choice);
  return new GithubSource(githubApiOf(`${place.owner}/${place.repo}`, choice), from, place.tag);
}

function folderSource(at: RepositoryFolder, choice: RegistryChoice): ArtifactSource {
  return {
    name: spellFolder(at),
    fetch: async (ref, _, held) => {
      const { fetchFolder } = await import('./github-folder.ts');
      const pinned = parsePinnedFolder(held?.from ?? '');
      const isSame = pinned?.repo === at.repo && pinned.folder === at.folder;
      return (await fetchFolder(isSame ? pinned : at, githubApiOf(at.repo, choice))).archiveFor(ref);
    },
  };
}

/** The releases of a repository that a reference names, with the token of a configured source of the same repository if there is one. */
export function githubApiOf(repo: string, choice: RegistryChoice): GithubApi {
  const source = configOf(choice).sources.find((each) => each.type === 'github' && each.repo === repo);
  return openGithub(repo, source?.token, choice);
}

/** The logins for OCI registries: the token of a configured source of the host, else what docker or podman keeps. */
export function ociAccessOf(choice: RegistryChoice): OciAccess {
  return accessOf(configOf(choice), choice);
}

/** The hosts of mirrors that have failed during a command, shared by all sources that it opens. */
const failedMirrors = new WeakMap<RegistryChoice, Set<string>>();

function accessOf(config: UserConfig, choice: RegistryChoice): OciAccess {
  const { http, env, home, onWarning } = choice;
  const failed = failedMirrors.get(choice) ?? new Set<string>();
  failedMirrors.set(choice, failed);
  const sources = ociSources(config);
  return {
    http,
    mirrorOf: (at) => {
      const mirrored = sources.find((source) => source.mirror !== undefined && spellsBeginning(source.at, at));
      if (mirrored?.mirror === undefined) return null;
      const { host, repository } = ociAddress(mirrored.mirror);
      const below = at.repository.slice(mirrored.at.repository.length);
      return { at: { host, repository: `${repository}${below}` }, failed, onWarning };
    },
    login: async (at) => {
      for (const source of sources) {
        const token = spellsBeginning(source.at, at) ? source.token() : undefined;
        if (token !== undefined) return loginOfToken(token);
      }
      return await findLogin(at, { env, home });
    },
  };
}

type OciConfigured = Extract<ConfiguredSource, { type: 'oci' }> & { readonly at: OciRepositoryName };

/** The ones with the longest path first, because they are the most specific. */
function ociSources({ sources }: UserConfig): readonly OciConfigured[] {
  const found = sources.flatMap((source) => (source.type === 'oci' ? [{ ...source, at: ociAddress(source.url) }] : []));
  return found.toSorted((one, other) => other.at.repository.length - one.at.repository.length);
}

function spellsBeginning(source: OciRepositoryName, { host, repository }: OciRepositoryName): boolean {
  return source.host === host && `${repository}/`.startsWith(`${source.repository}/`);
}

function openOci(named: string, config: UserConfig, choice: RegistryChoice): RegistryInUse {
  const address = named.replace(/\/+$/, '');
  const fault = ociAddressFault(address);
  if (fault !== undefined) {
    const where = choice.flag === undefined ? 'SVC_REGISTRY_URL' : '--registry';
    throw new Diagnostic('E-REG-006', `${where} ${fault}, not ${quoted(named)}`, {
      hint: 'the name and the version of an artifact are added to it: oci://registry.example.com/acme',
    });
  }
  return { kind: 'oci', source: new OciSource(ociAddress(address), accessOf(config, choice)) };
}

function openSource(source: ConfiguredSource, config: UserConfig, choice: RegistryChoice): RegistryInUse {
  if (source.type === 'oci') {
    const access = accessOf(config, choice);
    return { kind: 'oci', source: new OciSource(ociAddress(source.url), access, `${source.name} (${source.url})`) };
  }
  if (source.type === 'github') {
    const api = openGithub(source.repo, source.token, choice);
    return { kind: 'github', source: new GithubSource(api, `${source.name} (${api.label})`) };
  }
  const own = source.token();
  const key = keyOf(own, choice.env, 'REGISTRY_API_KEY');
  const keyName = own === undefined ? 'REGISTRY_API_KEY' : `the token of source ${source.name}`;
  return { kind: 'registry', client: new RegistrySource({ url: source.url, key, keyName }, choice.http) };
}

function openGithub(
  repo: string,
  token: ConfiguredSource['token'] | undefined,
  { env, http }: RegistryChoice,
): GithubApi {
  const own = token?.();
  const base = valueOf(env, 'SVC_GITHUB_API_URL');
  const access = {
    apiUrl: base === '' ? 'https://api.github.com' : parseAddress(base, 'SVC_GITHUB_API_URL'),
    repo,
    token: keyOf(own, env, 'GITHUB_TOKEN'),
    tokenName: own === undefined ? 'GITHUB_TOKEN' : 'the token of its source',
  };
  return new GithubApi(access, http);
}

function configOf({ home, env, onWarning }: RegistryChoice): UserConfig {
  const config = loadUserConfig({ home, env });
  for (const warning of config.warnings) onWarning(warning);
  return config;
}

/** `names` are suggestions for a misspelt one. */
function parseAddress(text: string, where: string, names: readonly string[] = []): string {
  const fault = where === 'SVC_GITHUB_API_URL' ? endpointFault(text) : registryAddressFault(text);
  if (fault === undefined) return text.replace(/\/+$/, '');
  // Everybody on the network could read the key.
  const hint =
    didYouMean(text, names) ??
    (/^http:/i.test(text) && registryAddressFault(text.replace(/^http:/i, 'https:')) === undefined
      ? 'put TLS in front of it, as docs/registry.md shows, or reach it through ssh -L 7800:127.0.0.1:7800 <host>'
      : 'name a registry by its address, by the name of a source in ~/.svc/config.yaml, or as local');
  throw new Diagnostic('E-REG-006', `${where} ${fault}, not ${quoted(text)}`, { hint });
}

function valueOf(env: Environment, name: string): string {
  return env[name] ?? '';
}

/** Every client and server spells these characters with the same bytes. */
const printableAscii = /^[ -~]*$/;

/** A source's own token, else the value of the variable. */
function keyOf(own: Secret | undefined, env: Environment, variable: string): Secret | null {
  const key = own ?? (valueOf(env, variable) === '' ? null : new Secret(valueOf(env, variable)));
  if (key === null || printableAscii.test(key.reveal())) return key;
  const name = own === undefined ? variable : 'the token of the source';
  throw new Diagnostic('E-REG-006', `${name} holds a character outside printable ASCII, such as a line end`);
}
