import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactRef, ReleaseRef } from '../artifact-ref.ts';
import type { ArtifactSource, FetchedArchive } from '../artifact-source.ts';
import type { GithubApi, GithubAsset, GithubRelease } from './github-api.ts';

/** The releases of a repository as a source of artifacts (docs/installing.md "GitHub releases"). */
export class GithubSource implements ArtifactSource {
  readonly name: string;
  readonly #api: GithubApi;

  constructor(api: GithubApi, name = api.label) {
    this.name = name;
    this.#api = api;
  }

  /** From the release tagged `<version>`, then `v<version>`, then the latest: the first that has a file of this name and version. */
  async fetch({ name, version }: ArtifactRef, platform: string): Promise<FetchedArchive | null> {
    const stem = `${name}-${version}`;
    const lookups = [
      () => this.#api.releaseOf(version),
      () => this.#api.releaseOf(`v${version}`),
      () => this.#api.latestRelease(),
    ];
    for (const lookup of lookups) {
      const assets = (await lookup())?.assets ?? [];
      const variant = assets.find((asset) => asset.name === `${stem}-${platform}.zip`);
      if (variant !== undefined) return await this.#api.fetchAsset(variant, platform);
      const generic = assets.find((asset) => asset.name === `${stem}.zip`);
      if (generic !== undefined) return await this.#api.fetchAsset(generic, null);
    }
    return null;
  }
}

/** One archive of a release for this machine. */
export interface ReleaseArchive {
  readonly asset: GithubAsset;
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
    stems.set(stem, [...(stems.get(stem) ?? []), { asset, platform }]);
  }
  return stems;
}
