import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { decodeSpawnerHandle, type SpawnerHandle } from '@svc/protocol/spawner-handle.ts';

/**
 * The handle of `SVC_SPAWNER`; null when the variable is not set, since nobody delegated to this capsule. Throws `E-RUN-020` for anything
 * that cannot be read as a handle.
 */
export function parseSpawnerHandle(text: string | undefined): SpawnerHandle | null {
  if (text === undefined) return null;
  const decoded = decodeSpawnerHandle(text);
  if (decoded.kind === 'handle') return decoded.handle;
  throw new Diagnostic('E-RUN-020', `SVC_SPAWNER cannot be read as a spawner handle: ${decoded.problem}`, {
    hint: 'a parent capsule sets it for its child; unset it to run this capsule by hand',
  });
}
