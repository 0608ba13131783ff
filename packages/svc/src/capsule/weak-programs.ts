import type { Containment } from '@svc/sandbox/containment.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/load.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';

/**
 * `W-RUN-059` for a launch whose programs get less than `scoped` from this host: shell commands, native tools, servers of tools, a driver
 * that is a process. Null where there are none, or where they are contained. In one line, at each run (ADR 0083).
 */
export function weakPrograms(
  { manifest }: Pick<LoadedManifest, 'manifest'>,
  artifacts: readonly Pick<InstalledArtifact, 'manifest'>[],
  { achieved, mechanism, reason }: Pick<Containment, 'achieved' | 'mechanism' | 'reason'>,
): Diagnostic | null {
  if (achieved !== 'advisory') return null;
  const commands = manifest.capabilities.shell?.allow.length ?? 0;
  const programs = artifacts.filter(({ manifest: { implementation } }) => implementation !== 'wasm').length;
  const kinds = [
    ...(commands === 0 ? [] : ['commands']),
    ...(programs === 0 ? [] : ['native tools']),
    ...(manifest.inference.transport === 'process' ? ['the program of the driver'] : []),
  ];
  if (kinds.length === 0) return null;
  const why = reason === null ? '' : `: ${reason}`;
  const message = `class advisory (${mechanism}) for ${kinds.join(' and ')}, which keeps no file of this user from them${why}`;
  return new Diagnostic('W-RUN-059', message);
}
