import { Diagnostic } from '../diagnostics/diagnostic.ts';
import { renderKeyPath, type KeyPath } from '../manifest/key-path.ts';
import type { LoadedManifest } from '../manifest/load.ts';

const defaultGraceSecs = 10;

/**
 * What the manifest declares and this version does not do. A hook may be there to refuse things, so a capsule never runs without it
 * (`E-RUN-025`); of the rest the operator is told that it is missing (`W-RUN-002`).
 */
export function unavailableParts({ manifest, locate }: LoadedManifest): {
  readonly refusals: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
} {
  const hooks = manifest.artifacts.flatMap(({ runtime }, index) => (runtime === 'hook' ? [index] : []));
  const refusals = hooks.map((index) => {
    const message = `artifacts[${index}] is a hook, and this version runs no hooks`;
    const hint = 'remove the entry: a capsule is not started without a hook it declares';
    return new Diagnostic('E-RUN-025', message, { hint, location: locate(['artifacts', index], 'value') });
  });
  const { capabilities, exports, inference, lifecycle } = manifest;
  const missing: [declared: boolean, path: KeyPath, what: string][] = [
    [(capabilities.spawn?.allow.length ?? 0) > 0, ['capabilities', 'spawn'], 'the model gets no delegate-task tool'],
    [capabilities.peer_fetch !== undefined, ['capabilities', 'peer_fetch'], 'the model gets no fetch-peer-file tool'],
    [capabilities.state !== undefined, ['capabilities', 'state'], 'no store is mounted'],
    [exports.peer_files !== undefined, ['exports', 'peer_files'], 'no handle can be minted'],
    [inference.context.max_tokens !== undefined, ['inference', 'context'], 'a conversation is never compacted'],
    [lifecycle.shell_grace_secs !== defaultGraceSecs, ['lifecycle', 'shell_grace_secs'], 'a command runs to its end'],
  ];
  for (const [index, artifact] of manifest.artifacts.entries()) {
    missing.push([artifact.config !== undefined, ['artifacts', index, 'config'], 'it is handed to nobody']);
  }
  const warnings = missing
    .filter(([declared]) => declared)
    .map(([, path, what]) => {
      const message = `${renderKeyPath(path)} is declared, but not available in this version: ${what}`;
      return new Diagnostic('W-RUN-002', message, { location: locate(path, 'key') });
    });
  return { refusals, warnings };
}
