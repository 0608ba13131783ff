import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ReleaseRef } from './artifact-ref.ts';
import { receive } from './fetch-artifact.ts';
import { inParallel } from './in-parallel.ts';
import { type InstalledRef, type InstallRequest, prepareStored, record } from './install.ts';
import { receiptOf } from './locate-in-sources.ts';
import { listed, refuse } from './resolve.ts';
import type { GithubApi } from './sources/github-api.ts';
import { archivesOfRelease, type ReleaseArchive } from './sources/github-source.ts';

const mostAtOnce = 4;

/**
 * Installs every archive of a release (D1 "Command line" `svc install github:…`, contracts §2). Each is taken in for what its own manifest
 * says it is. Throws every problem at once; the archives without one are in the store then, and in no `svc.lock`.
 */
export async function installRelease(
  release: ReleaseRef,
  api: GithubApi,
  request: InstallRequest,
): Promise<readonly InstalledRef[]> {
  const { archives, faults } = await archivesOfRelease(api, release, request.platform);
  const outcomes = await inParallel(archives, mostAtOnce, async (archive) => {
    try {
      return await takeIn(archive, api, request);
    } catch (error) {
      // Told with the problems of the other archives.
      if (error instanceof Diagnostic || error instanceof DiagnosticList) return error;
      throw error;
    }
  });
  const isFault = (outcome: (typeof outcomes)[number]): outcome is Diagnostic | DiagnosticList =>
    outcome instanceof Diagnostic || outcome instanceof DiagnosticList;
  refuse([...faults, ...outcomes.filter(isFault).flatMap(listed)]);
  const installed = outcomes.flatMap((outcome) => (isFault(outcome) ? [] : [outcome]));
  await record(installed, request);
  return installed;
}

async function takeIn(archive: ReleaseArchive, api: GithubApi, request: InstallRequest): Promise<InstalledRef> {
  const { asset, platform } = archive;
  const receipt = receiptOf(request);
  const download = { source: `${api.label}: ${asset.name}`, what: asset.name };
  const stored = await receive(await api.fetchAsset(asset, platform), download, receipt);
  const origin = request.fetching?.into ?? 'project';
  await prepareStored({ origin, root: receipt.root, stored }, request);
  return { name: stored.name, version: stored.version, platform, sha256: stored.sha256, origin };
}
