/** Says which paths of the host a plan leaves out. */

import { dirname, join, relative, resolve } from 'node:path';

import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { fileRights } from './compose-plan.ts';
import type { LaunchPlan, RootStep } from './launch-plan.ts';

const maxLinks = 40;

/** Whether what is at a path of the host cannot be read by a program with this plan. What is masked in a folder of the plan is no part of the answer. */
export function leavesOut({ root, landlock }: Pick<LaunchPlan, 'root' | 'landlock'>, path: string): boolean {
  if (root.length > 0) return !isShown(root, path, 0);
  if (landlock === null) return false;
  const real = realPath(path);
  return !landlock.paths.some((rule) => (rule.rights & fileRights.read) !== 0n && isBeneath(rule.path, real));
}

function isShown(root: readonly RootStep[], path: string, links: number): boolean {
  return root.some((step) => {
    // On the way to something that is shown there is a folder.
    if (isBeneath(path, step.target)) return true;
    if (!isBeneath(step.target, path)) return false;
    // A folder of its own holds nothing of the host.
    if (step.kind !== 'symlink') return step.kind === 'bind' && step.source === step.target;
    const target = join(resolve(dirname(step.target), step.text), relative(step.target, path));
    return links < maxLinks && isShown(root, target, links + 1);
  });
}
