import { normalizeWorkdirPath } from '@svc/artifacts/manifest/workdir-path.ts';
import { release } from '@svc/kit/files/descriptor-io.ts';
import type { ExportRoot } from './export-root.ts';
import type { ResourceRefusalCode } from '@svc/protocol/resource-refusals.ts';

export type SharedPath =
  /** Canonical and relative to the root. */
  { readonly kind: 'path'; readonly path: string } | { readonly kind: 'refused'; readonly code: ResourceRefusalCode };

/**
 * The path of a regular file that may be shared. One that would leave the root is refused, whether plainly, percent-encoded or by a link,
 * and never normalised into something else (D3 "Errors", docs/peer-files.md "Sharing"). Otherwise it is taken as it stands: a `%` is a `%`.
 */
export function sharedPath(root: ExportRoot, path: string): SharedPath {
  const plain = normalizeWorkdirPath(path);
  if (plain === undefined || normalizeWorkdirPath(decoded(path)) === undefined) return refused('outside_root');
  if (plain === '.') return refused('not_a_regular_file');
  const opening = root.open(plain);
  if (opening.kind === 'refused') return opening;
  release(opening.file.descriptor);
  return { kind: 'path', path: opening.path };
}

/** With the escapes of ASCII characters decoded, which are all that a way out is made of. */
function decoded(path: string): string {
  return path.replaceAll(/%([0-7][0-9A-Fa-f])/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

function refused(code: ResourceRefusalCode): SharedPath {
  return { kind: 'refused', code };
}
