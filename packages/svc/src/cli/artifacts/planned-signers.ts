/** Finds out who signed what a plan would bring, so that `--dry-run` says and refuses what the change itself would. */

import { copyFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { loadTrustPolicy, ruleFor } from '@svc/artifacts/manifest/trust-policy.ts';
import { spell } from '@svc/artifacts/store/artifact-ref.ts';
import type { InstalledRef } from '@svc/artifacts/store/install.ts';
import { lockPath } from '@svc/artifacts/store/lockfile.ts';
import { admissionWarnings, findRef } from '@svc/artifacts/store/resolve.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import type { OpenedProject, PlannedChange } from './project-change.ts';

/** What is known of an archive of a plan, by its spelling. */
export type BroughtArchives = ReadonlyMap<string, Pick<InstalledRef, 'sha256' | 'admission'>>;

/**
 * Brings what a rule of the trust policy is for into a store that is gone afterwards, held to the `svc.lock` of the project as the change would be; throws
 * what that would be refused with. Nothing is fetched for a name that no rule is for.
 */
export async function plannedSigners(
  plan: readonly PlannedChange[],
  { request, context }: OpenedProject,
): Promise<BroughtArchives> {
  const policy = loadTrustPolicy(context.home);
  const ruled = plan.filter(({ name }) => policy !== null && ruleFor(policy, name) !== null);
  const brought = new Map<string, Pick<InstalledRef, 'sha256' | 'admission'>>();
  if (ruled.length === 0) return brought;
  const aside = await mkdtemp(join(tmpdir(), 'svc-plan-'));
  try {
    unlessErrno(['ENOENT'], () => copyFileSync(lockPath(request.manifestDir), lockPath(aside)), undefined);
    for (const { wanted, source } of ruled) {
      if (wanted === null) continue;
      const sources = source === undefined ? request.sources : () => [source];
      const { stored, admission } = await findRef(wanted, { ...request, manifestDir: aside, sources });
      for (const warning of admissionWarnings([{ admission }])) request.onWarning(warning);
      brought.set(spell(wanted), { sha256: stored.sha256, admission });
    }
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return brought;
}
