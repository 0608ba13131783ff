/** Fetches artifacts from the releases of a GitHub repository. */

import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { listOf } from '@svc/kit/bounded-lists.ts';
import type { HttpAnswer, HttpClient } from '@svc/kit/net/http-client.ts';
import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';
import { signatureLimits } from '@svc/protocol/registry-messages.ts';
import type { ArtifactRef, ReleaseRef } from '../artifact-ref.ts';
import type { ArtifactSource, FetchedArchive } from '../installed-artifact.ts';
import { archiveLimits } from '../archive-entry.ts';
import type { LockedArtifact } from '../lockfile.ts';
import { decodeSignatures, signaturesSuffix } from '../trust/signature-bundle.ts';
import { refusedElsewhere } from './refused-elsewhere.ts';
import { readErrorText } from './registry-source.ts';

/** The releases of a repository as a source of artifacts (docs/installing.md "GitHub releases"). */
export class GithubSource implements ArtifactSource {
  readonly name: string;
  readonly #api: GithubApi;
  readonly #tag: string | null;

  /** `tag` names the one release that is looked into. */
  constructor(api: GithubApi, name = api.label, tag: string | null = null) {
    this.name = name;
    this.#api = api;
    this.#tag = tag;
  }

  /** Looks in the release tagged `<version>`, then `v<version>`, then the latest, and takes the first that has a file of this name and version. */
  async fetch(ref: ArtifactRef, platform: string): Promise<FetchedArchive | null> {
    const { name, version } = ref;
    for await (const { assets } of this.#releases(ref)) {
      const variant = assetNamed(assets, archiveName(name, version, platform));
      if (variant !== null) return await this.#api.fetchAsset(variant, platform);
      const generic = assetNamed(assets, archiveName(name, version, null));
      if (generic !== null) return await this.#api.fetchAsset(generic, null);
    }
    return null;
  }

  /** The file of signatures beside the archive in its release, else what the forge itself attests. */
  async signatures({ name, version, platform, sha256 }: LockedArtifact): Promise<readonly string[]> {
    const file = archiveName(name, version, platform);
    for await (const { assets } of this.#releases({ name, version })) {
      if (assetNamed(assets, file) !== null)
        return await this.#api.signaturesOf(signaturesOfAsset(assets, file), sha256);
    }
    return [];
  }

  async *#releases({ version }: ArtifactRef): AsyncGenerator<GithubRelease> {
    const tag = this.#tag;
    const lookups =
      tag !== null
        ? [() => this.#api.releaseOf(tag)]
        : [
            () => this.#api.releaseOf(version),
            () => this.#api.releaseOf(`v${version}`),
            () => this.#api.latestRelease(),
          ];
    for (const lookup of lookups) {
      const found = await lookup();
      if (found !== null) yield found;
    }
  }
}

function archiveName(name: string, version: string, platform: string | null): string {
  return `${name}-${version}${platform === null ? '' : `-${platform}`}.zip`;
}

function assetNamed(assets: readonly GithubAsset[], name: string): GithubAsset | null {
  return assets.find((asset) => asset.name === name) ?? null;
}

/** The file of signatures beside an archive: one bundle a line, or one alone. */
function signaturesOfAsset(assets: readonly GithubAsset[], archive: string): GithubAsset | null {
  return assetNamed(assets, `${archive}${signaturesSuffix}`) ?? assetNamed(assets, `${archive}.sigstore.json`);
}

/** One archive of a release for this machine. */
export interface ReleaseArchive {
  readonly asset: GithubAsset;
  /** The file of signatures beside it; null when the release has none. */
  readonly signatures: GithubAsset | null;
  readonly platform: string | null;
}

/**
 * The archives of a release for a platform: of each the variant for it, else the generic file. `E-REG-001` when there is no such release,
 * when it has no archive, and for each archive that it has for other platforms alone.
 */
export async function archivesOfRelease(
  api: GithubApi,
  { tag }: Pick<ReleaseRef, 'tag'>,
  platform: string,
): Promise<{ readonly archives: readonly ReleaseArchive[]; readonly faults: readonly Diagnostic[] }> {
  const release = await api.releaseOf(tag);
  const hint = api.absenceHint;
  if (release === null) throw new Diagnostic('E-REG-001', `${api.label} has no release tagged ${tag}`, { hint });
  const stems = byStem(release);
  if (stems.size === 0) throw new Diagnostic('E-REG-001', `the release ${tag} of ${api.label} has no .zip file`);
  const archives: ReleaseArchive[] = [];
  const faults: Diagnostic[] = [];
  for (const [stem, variants] of stems) {
    const chosen =
      variants.find((each) => each.platform === platform) ?? variants.find((each) => each.platform === null);
    if (chosen !== undefined) archives.push(chosen);
    else
      faults.push(new Diagnostic('E-REG-001', `${stem} in the release ${tag} of ${api.label} is not for ${platform}`));
  }
  return { archives, faults };
}

/** Other suffixes are a part of the name or of the version. */
const variantShape = /^(.+)-((?:linux|darwin|win32|freebsd)-(?:x86_64|aarch64))$/;

function byStem({ assets }: GithubRelease): Map<string, ReleaseArchive[]> {
  const stems = new Map<string, ReleaseArchive[]>();
  for (const asset of assets) {
    if (!asset.name.endsWith('.zip')) continue;
    const whole = asset.name.slice(0, -'.zip'.length);
    const [, stem = whole, platform = null] = variantShape.exec(whole) ?? [];
    const signatures = signaturesOfAsset(assets, asset.name);
    stems.set(stem, [...(stems.get(stem) ?? []), { asset, signatures, platform }]);
  }
  return stems;
}

interface GithubAccess {
  /** The address of the releases API, without a slash at its end. */
  readonly apiUrl: string;
  /** `<owner>/<repo>` */
  readonly repo: string;
  readonly token: Secret | null;
  /** Where the operator sets the token, for advice: `GITHUB_TOKEN`. */
  readonly tokenName: string;
}

const release = z.object({
  tag_name: z.string(),
  assets: listOf(
    z.object({
      id: z.int(),
      name: z.string(),
      size: z.int(),
      /** Older servers give none. */
      digest: z.optional(z.nullable(z.string())),
    }),
  ),
});

type GithubRelease = z.infer<typeof release>;
type GithubAsset = GithubRelease['assets'][number];

const maxReleaseBytes = 16 * 1024 * 1024;
const maxSignaturesBytes = signatureLimits.maxBundles * (signatureLimits.maxBundleBytes + 1);
const digestShape = /^sha256:([0-9a-f]{64})$/;

/** The releases of one repository, over GitHub's API (docs/installing.md "GitHub releases"). */
export class GithubApi {
  readonly #access: GithubAccess;
  readonly #http: HttpClient;

  constructor(access: GithubAccess, http: HttpClient) {
    this.#access = access;
    this.#http = http;
  }

  get label(): string {
    return `github:${this.#access.repo}`;
  }

  /** What to try when nothing is found: without a token a private repository looks like none. */
  get absenceHint(): string {
    const { token, tokenName } = this.#access;
    return token === null
      ? `check the name and the tag; if the repository is private, set ${tokenName}`
      : `check the name and the tag, and that the token in ${tokenName} may read the repository`;
  }

  /** The release with this tag; null when the repository has no such release, or the token may not see the repository. */
  async releaseOf(tag: string): Promise<GithubRelease | null> {
    return await this.#release(`/tags/${encodeURIComponent(tag)}`);
  }

  /** Returns null when nothing has been released. */
  async latestRelease(): Promise<GithubRelease | null> {
    return await this.#release('/latest');
  }

  /** The bytes of an asset; the token does not follow the redirect to where they lie. */
  async fetchAsset(asset: GithubAsset, platform: string | null): Promise<FetchedArchive> {
    if (asset.size > archiveLimits.maxArchiveBytes) {
      throw new Diagnostic('E-ART-003', `${asset.name} of ${this.label} is larger than 512 MiB`);
    }
    // Its address is made, not taken from the answer: the token goes to nobody else.
    const answer = await this.#get(`/assets/${asset.id}`, 'application/octet-stream');
    if (answer.status !== 200) throw await this.#refusal(answer, `does not give ${asset.name}`);
    const [, sha256 = null] = digestShape.exec(asset.digest ?? '') ?? [];
    return {
      platform,
      sha256,
      size: answer.size ?? asset.size,
      bytes: answer.body(),
      discard: () => answer.discard(),
    };
  }

  /**
   * The bundles in an asset; without one, what the forge attests of an archive with this hash. None where it attests nothing, or the token may
   * not ask.
   */
  async signaturesOf(asset: GithubAsset | null, sha256: string): Promise<readonly string[]> {
    if (asset === null) return await this.#attestations(sha256);
    const answer = await this.#get(`/assets/${asset.id}`, 'application/octet-stream');
    if (answer.status !== 200) throw await this.#refusal(answer, `does not give ${asset.name}`);
    const text = await answer.text(maxSignaturesBytes);
    if (text === null) throw new Diagnostic('E-IO-003', `${asset.name} of ${this.label} is too large for signatures`);
    return asset.name.endsWith(signaturesSuffix) ? decodeSignatures(text) : [text];
  }

  async #attestations(sha256: string): Promise<readonly string[]> {
    const { apiUrl, repo, token } = this.#access;
    const url = new URL(`${apiUrl}/repos/${repo}/attestations/sha256:${sha256}?per_page=${signatureLimits.maxBundles}`);
    const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
    const answer = await this.#http.send({ label: this.label, url, headers, key: token });
    if ([401, 403, 404].includes(answer.status)) {
      answer.discard();
      return [];
    }
    if (answer.status !== 200) throw await this.#refusal(answer, 'does not give its attestations');
    const listed = asJsonObject(parseJson((await answer.text(maxReleaseBytes)) ?? ''))?.['attestations'];
    const bundles = (Array.isArray(listed) ? (listed as unknown[]) : []).map((each) => asJsonObject(each)?.['bundle']);
    return bundles
      .filter((bundle) => asJsonObject(bundle) !== null)
      .slice(0, signatureLimits.maxBundles)
      .map((bundle) => JSON.stringify(bundle));
  }

  async #release(path: string): Promise<GithubRelease | null> {
    const answer = await this.#get(path, 'application/vnd.github+json');
    if (answer.status === 404) {
      answer.discard();
      return null;
    }
    if (answer.status !== 200) throw await this.#refusal(answer, 'does not list its releases');
    const parsed = release.safeParse(parseJson((await answer.text(maxReleaseBytes)) ?? ''), { jitless: true });
    if (parsed.success) return parsed.data;
    throw new Diagnostic('E-IO-003', `what ${this.label} says of a release cannot be understood`);
  }

  /** The zip archive that the forge makes of a tag, branch or commit. `E-REG-001` when it has none of that name. */
  async fetchCommit(ref: string): Promise<HttpAnswer> {
    const path = ref.split('/').map(encodeURIComponent).join('/');
    const answer = await this.#get(path, 'application/vnd.github+json', 'zipball/');
    if (answer.status === 200) return answer;
    if (answer.status !== 404) throw await this.#refusal(answer, `does not give its files of ${ref}`);
    answer.discard();
    const message = `${this.label} has no tag, branch or commit ${quoted(ref)}`;
    throw new Diagnostic('E-REG-001', message, { hint: this.absenceHint });
  }

  async #get(path: string, accept: string, below = 'releases'): Promise<HttpAnswer> {
    const { apiUrl, repo, token } = this.#access;
    return await this.#http.send({
      label: this.label,
      url: new URL(`${apiUrl}/repos/${repo}/${below}${path}`),
      headers: { accept, 'x-github-api-version': '2022-11-28' },
      key: token,
    });
  }

  async #refusal(answer: HttpAnswer, what: string): Promise<Diagnostic> {
    const { token, tokenName, apiUrl } = this.#access;
    const { shown } = await readErrorText(answer, token);
    const resets = resetTime(answer);
    if (resets !== null) {
      const hint = token === null ? `wait, or set ${tokenName}: with a token the limit is higher` : 'wait until then';
      return new Diagnostic('E-IO-003', `${this.label} ${what}: the rate limit is used up, ${resets}`, { hint });
    }
    const elsewhere = refusedElsewhere(answer, new URL(apiUrl));
    const message = `${this.label} ${what} (${answer.status}${elsewhere?.by ?? ''})${shown}`;
    if (elsewhere !== null) return new Diagnostic('E-IO-003', message, { hint: elsewhere.hint });
    if (answer.status !== 401 && answer.status !== 403) return new Diagnostic('E-IO-003', message);
    const advice = token === null ? `set ${tokenName} to a token` : `check that ${tokenName} is a token`;
    return new Diagnostic('E-IO-003', message, { hint: `${advice} for ${apiUrl} that may read the repository` });
  }
}

/** When a rate limit ends, as a clause; null for an answer that is about something else. */
function resetTime({ status, headers }: HttpAnswer): string | null {
  if (status !== 403 && status !== 429) return null;
  const { 'retry-after': retryAfter } = headers;
  if (retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter)) return `try again in ${retryAfter} seconds`;
  const { 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': reset } = headers;
  if (remaining === '0' && typeof reset === 'string' && /^\d{1,11}$/.test(reset)) {
    return `it is renewed at ${new Date(Number(reset) * 1000).toISOString()}`;
  }
  return status === 429 ? 'try again later' : null;
}
