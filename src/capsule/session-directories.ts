import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { ioFault, isErrno } from '../store/io-fault.ts';
import type { SessionId } from '../wire/ids.ts';

export interface SessionDirectories {
  /** The accessible workdir, links resolved: the agent reads and writes here. */
  readonly workdir: string;
  /** Trace, logs and staged tools, owner-only: out of the agent's reach. */
  readonly session: string;
  readonly trace: string;
}

export interface DirectoriesRequest {
  /** Where `workdir/` and `.svc/` lie: the directory of the manifest. */
  readonly root: string;
  readonly sessionId: SessionId;
  /** `--workdir`, absolute; null for a fresh one named by the session. */
  readonly workdir: string | null;
}

/** Makes the directories of a session (contracts §2 "Layout on disk"). `E-IO-001` when the file system refuses. */
export function makeSessionDirectories({ root, sessionId, workdir }: DirectoriesRequest): SessionDirectories {
  const accessible = workdir ?? join(root, 'workdir', sessionId);
  const session = join(root, '.svc', 'sessions', sessionId);
  makeDirectory(accessible, 0o755);
  refuseWithin(realpathSync(accessible), realpathSync(root));
  makeDirectory(session, 0o700);
  return { workdir: realpathSync(accessible), session, trace: join(session, 'trace.jsonl') };
}

/** The trace, the logs and the manifest must stay out of the agent's reach: its workdir may lie in the workspace, not around it. */
function refuseWithin(workdir: string, root: string): void {
  const way = relative(workdir, root);
  if (way === '..' || way.startsWith(`..${sep}`)) return;
  throw new Diagnostic('E-RUN-029', `the workdir ${workdir} holds the workspace itself, with its manifest and traces`, {
    hint: 'name a directory of its own with --workdir, or leave the flag out',
  });
}

function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    mkdirSync(path, { mode });
  } catch (error) {
    if (isErrno(error, 'EEXIST') && statSync(path).isDirectory()) return;
    throw ioFault(error, `the directory ${path} cannot be made`);
  }
}
