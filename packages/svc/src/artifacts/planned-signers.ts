/** Finds out who signed what a plan would bring, so that `--dry-run` says and refuses what the change itself would. */

import { copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

import { loadTrustPolicy, ruleFor } from '@svc/artifacts/manifest/trust-policy.ts';
import { spell } from '@svc/artifacts/store/artifact-ref.ts';
import { placesOfChange } from '@svc/artifacts/store/change-artifacts.ts';
import { findRef, type InstalledRef } from '@svc/artifacts/store/install.ts';
import { lockPath } from '@svc/artifacts/store/lockfile.ts';
import { admissionWarnings } from '@svc/artifacts/store/resolve.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import type { OpenedProject, PlannedChange } from './opened-project.ts';

/**
 * Who signed what of a plan, by its spelling. Brings what a rule of the trust policy is for into a store that is gone afterwards, held to the `svc.lock` of the project as the change would be; throws
 * what that would be refused with. Nothing is fetched for a name that no rule is for.
 */
export async function plannedSigners(
  plan: readonly PlannedChange[],
  { request, context }: OpenedProject,
): Promise<ReadonlyMap<string, InstalledRef['admission']>> {
  const policy = loadTrustPolicy(context.home);
  const ruled = plan.filter(({ name }) => policy !== null && ruleFor(policy, name) !== null);
  const brought = new Map<string, InstalledRef['admission']>();
  if (ruled.length === 0) return brought;
  const aside = makeScratch(tmpdir(), 'svc-plan-');
  try {
    unlessErrno(['ENOENT'], () => copyFileSync(lockPath(request.manifestDir), lockPath(aside)), undefined);
    for (const change of ruled) {
      const { wanted } = change;
      if (wanted === null) continue;
      const { admission } = await findRef(wanted, { ...placesOfChange(change, request), manifestDir: aside });
      for (const warning of admissionWarnings([{ admission }])) request.onWarning(warning);
      brought.set(spell(wanted), admission);
    }
  } finally {
    removeScratch(aside);
  }
  return brought;
}
