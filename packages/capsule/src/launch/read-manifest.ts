/** Reads the manifest and the configuration of a workspace as a launch does. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { WorkspaceConfig } from '@svc/artifacts/manifest/config.ts';
import { readKeptManifest, type ManifestKeeper } from '@svc/artifacts/manifest/kept-manifest.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { DiagnosticList, type Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { readTextBeneath } from '@svc/kit/files/read-beneath.ts';
import { readSmallText, readTextIfThere } from '@svc/kit/files/read-text.ts';

export interface ManifestReading {
  readonly loaded: LoadedManifest;
  /** What a launch needs beside a valid manifest and does not find: the provider's key, the system prompt. */
  readonly missing: readonly Diagnostic[];
}

/** Reads a manifest as a launch does. Throws a `DiagnosticList` where it is not valid. */
export async function loadManifest(
  file: string,
  {
    env,
    keeper,
    text: given,
  }: { readonly env: Environment; readonly keeper: ManifestKeeper | null; readonly text: string | undefined },
): Promise<ManifestReading> {
  const reading = given === undefined ? readSmallText(file) : { kind: 'text' as const, text: given };
  const text = reading.kind === 'text' ? { text: reading.text } : {};
  const kept = keeper === null || text.text === undefined ? null : readKeptManifest(keeper, { file, env, ...text });
  if (kept !== null) return { loaded: kept, missing: [] };
  const { loadCapsuleManifest } = await import('@svc/artifacts/manifest/load.ts');
  try {
    const request = { file, env, ...text, ...(keeper === null ? {} : { keeper }) };
    return { loaded: loadCapsuleManifest(request), missing: [] };
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    const inspected = unlessInvalid(() => loadCapsuleManifest({ file, env, ...text, purpose: 'inspect' }));
    if (inspected === null) throw error;
    return { loaded: inspected, missing: error.diagnostics.filter(({ code }) => code.startsWith('E-')) };
  }
}

/** `.svc/config.yaml` of a workspace. Its reader is loaded only where there is such a file, or something in the way of one. */
export async function workspaceConfig(question: {
  readonly directory: string;
  readonly env: Environment;
}): Promise<WorkspaceConfig> {
  const isAbsent = readTextBeneath(question.directory, '.svc/config.yaml').kind === 'absent';
  if (isAbsent) return { warnings: [] };
  const { loadWorkspaceConfig } = await import('@svc/artifacts/manifest/config.ts');
  return loadWorkspaceConfig(question);
}

/** `notify.command` of `~/.svc/config.yaml`, for a capsule that a person starts and whose manifest has no `notify`. Nothing is loaded where the file lacks that word. */
export async function operatorCommand(
  {
    home,
    uid,
    approval = null,
  }: { readonly home: string; readonly uid: number | undefined; readonly approval?: object | null },
  { manifest }: LoadedManifest,
): Promise<readonly string[] | null> {
  if (manifest.notify !== undefined || approval !== null || home === '') return null;
  const file = join(home, '.svc', 'config.yaml');
  // A home that this user may not look into has nothing of theirs.
  const text = existsSync(file) ? readTextIfThere(file) : null;
  // A key that is spelt with escapes has a backslash.
  if (text === null || !/notify|\\/.test(text)) return null;
  return (await import('@svc/artifacts/manifest/operator-notify.ts')).notifyCommand(file, text, uid);
}

/** The manifest as those read it who run nothing; null when it is not valid for them either. */
function unlessInvalid(read: () => LoadedManifest): LoadedManifest | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof DiagnosticList) return null;
    throw error;
  }
}
