import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { renderKeyPath, type KeyPath } from '../manifest/key-path.ts';
import type { LoadedManifest } from '../manifest/load.ts';

/** What the manifest declares and this version does not do: the operator is told that it is missing (`W-RUN-002`). */
export function unavailableParts({ manifest, locate }: LoadedManifest): readonly Diagnostic[] {
  const { capabilities, exports } = manifest;
  const missing: [declared: boolean, path: KeyPath, what: string][] = [
    [capabilities.peer_fetch !== undefined, ['capabilities', 'peer_fetch'], 'the model gets no fetch-peer-file tool'],
    [exports.peer_files !== undefined, ['exports', 'peer_files'], 'no handle can be minted'],
  ];
  for (const [index, artifact] of manifest.artifacts.entries()) {
    missing.push([artifact.config !== undefined, ['artifacts', index, 'config'], 'it is handed to nobody']);
  }
  return missing
    .filter(([declared]) => declared)
    .map(([, path, what]) => {
      const message = `${renderKeyPath(path)} is declared, but not available in this version: ${what}`;
      return new Diagnostic('W-RUN-002', message, { location: locate(path, 'key') });
    });
}
