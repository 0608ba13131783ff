import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { renderKeyPath, type KeyPath } from '@svc/artifacts/manifest/key-path.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/load.ts';

/** What the manifest declares and this version does not do: the operator is told that it is missing (`W-RUN-002`). */
export function unavailableParts({ manifest, locate }: LoadedManifest): readonly Diagnostic[] {
  return manifest.artifacts.flatMap(({ config }, index) => {
    if (config === undefined) return [];
    const path: KeyPath = ['artifacts', index, 'config'];
    const message = `${renderKeyPath(path)} is declared, but not available in this version: it is handed to nobody`;
    return [new Diagnostic('W-RUN-002', message, { location: locate(path, 'key') })];
  });
}
