import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { normalizeWorkdirPath } from '@svc/artifacts/manifest/workdir-path.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { resolveBeneath, type Resolution } from '@svc/kit/files/resolve-beneath.ts';

export interface ExportCheck {
  /** The accessible workdir, canonical. */
  readonly workdir: string;
  readonly exports: {
    readonly files?: { readonly root: string } | undefined;
    readonly peer_files?: { readonly root: string } | undefined;
  };
}

/**
 * Why a launch is refused: an export root that leads out of the workdir (`E-CAP-007`, D3 "Export configuration"), and one that no header can
 * carry. A root that does not exist yet is sound unless a link on the way leads out. Throws `E-IO-001` when a root cannot be looked at.
 */
export function checkExportRoots({ workdir, exports }: ExportCheck): Diagnostic[] {
  const problems: Diagnostic[] = [];
  for (const plane of ['files', 'peer_files'] as const) {
    const root = exports[plane]?.root;
    if (root === undefined) continue;
    const problem = rootProblem(workdir, `exports.${plane}.root`, root);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function rootProblem(workdir: string, key: string, root: string): Diagnostic | undefined {
  if (/\p{Cc}/u.test(root)) {
    return new Diagnostic('E-MAN-003', `${key} must not hold control characters, not ${JSON.stringify(root)}`);
  }
  const path = normalizeWorkdirPath(root);
  if (path === '.' || (path !== undefined && resolve(workdir, path, key).kind !== 'outside')) return undefined;
  return new Diagnostic('E-CAP-007', `${key} ${JSON.stringify(root)} resolves outside the accessible workdir`, {
    hint: `remove the link at ${JSON.stringify(root)}, or export a directory of the workdir itself`,
  });
}

function resolve(workdir: string, path: string, key: string): Resolution {
  try {
    return resolveBeneath(workdir, path);
  } catch (error) {
    throw ioFault(error, `${key} cannot be looked at`);
  }
}
