/** Gives a session the calls that a person has allowed in every session of its manifest. */

import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { changeKept, type KeptCall, keptPath, maxKept, readKept } from '@svc/record/sessions/kept-approvals.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import type { KeptCalls, RepeatableCall } from '@svc/session/approvals/approvals.ts';
import type { OpenSessionRequest } from '../launch/open-session-request.ts';

const maxShown = 200;

/**
 * Returns null where no file holds the manifest, and for a capsule that another one has started. Drops what was kept for other rules, grants or
 * artifacts, with a warning; without a warning nothing is lost.
 */
export async function openKeptCalls({ request, launch, onWarning }: OpenSessionRequest): Promise<KeptCalls | null> {
  const { source, loaded, artifacts, project, env } = launch;
  const manifest = unlessRefused(() => realpathSync(resolve(request.cwd, source.manifestFile)), null);
  if (request.adhoc !== undefined || request.approval !== null || manifest === null) return null;
  const { approvals, capabilities, artifacts: entries } = loaded.manifest;
  const digests = artifacts.map((artifact) => [artifact.manifest.name, artifact.manifest.version, artifact.sha256]);
  const bound = sha256Hex(JSON.stringify([approvals, capabilities, entries, digests]));
  const places = [request.workdir === null ? null : resolve(request.cwd, request.workdir), project?.scope ?? null];
  const path = keptPath(request.home, manifest);
  const told = new Set<string>();
  const tell = (warning: Diagnostic): void => {
    if (!told.has(warning.message)) onWarning(warning);
    told.add(warning.message);
  };
  /** Returns null where nothing can be kept. */
  const calls = (): readonly KeptCall[] | null => {
    const kept = orTold(() => readKept(path), tell);
    if (kept === undefined) return null;
    return kept?.bound === bound ? kept.calls : [];
  };
  /** Whether it is done. */
  const change = async (make: Parameters<typeof changeKept>[1]): Promise<boolean> => {
    try {
      await changeKept(path, make);
      return true;
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      const isOwn = error.code === 'W-APR-007';
      tell(isOwn ? error : new Diagnostic('W-APR-007', `an approval was not kept: ${error.message}`, { cause: error }));
      return false;
    }
  };
  const first = orTold(() => readKept(path), tell);
  if (first !== undefined && first !== null && first.bound !== bound) {
    const count = first.calls.length === 1 ? 'a call' : `${first.calls.length} calls`;
    const message = `${count} approved for every session of ${source.manifestFile} will be asked about again: its approvals, capabilities or artifacts have changed`;
    onWarning(new Diagnostic('W-APR-006', message));
    await change((kept) => (kept?.bound === bound ? kept : null));
  }
  const keyOf = ({ digest, programs }: RepeatableCall): string | null => {
    const found = programs.map((name) => pathOf(name, env['PATH'] ?? ''));
    return found.includes(null) ? null : sha256Hex(JSON.stringify([digest, found, places]));
  };
  return {
    mayKeep: (call) => keyOf(call) !== null && (calls()?.length ?? maxKept) < maxKept,
    find: (call) => {
      const key = keyOf(call);
      return calls()?.find((each) => each.key === key)?.id ?? null;
    },
    keep: async (call, { id, by, at }) => {
      const key = keyOf(call);
      if (key === null) return false;
      return await change((kept) => {
        const before = kept?.bound === bound ? kept.calls.filter((each) => each.key !== key) : [];
        const added = { key, id, at, by, call: call.summary.slice(0, maxShown) };
        return { manifest, bound, calls: [...before, added].slice(-maxKept) };
      });
    },
  };
}

/** Where a program lies, its links followed; null where none is found. */
function pathOf(name: string, searchPath: string): string | null {
  const found = findProgram(name, searchPath);
  return found.kind === 'found' ? unlessRefused(() => realpathSync(found.path), null) : null;
}

function orTold<T>(look: () => T, tell: (warning: Diagnostic) => void): T | undefined {
  try {
    return look();
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    tell(error);
    return undefined;
  }
}
