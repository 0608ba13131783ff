/** The codes with which a capsule refuses to serve or to fetch a file, and their HTTP statuses. */

import { oneOf } from './json-object.ts';

/** Every refusal of both planes: its status, and its one text, which says nothing about the host (D3 "Errors"). */
export const resourceRefusals = {
  no_resource_plane: [404, 'This capsule exports no files.'],
  no_peer_plane: [404, 'This capsule exports no files to peers.'],
  not_found: [404, 'There is nothing at this path.'],
  outside_root: [403, 'The path leaves the export root.'],
  symlink_refused: [403, 'The path goes through a symbolic link, which this containment class refuses.'],
  not_a_regular_file: [403, 'The path names something that is not a regular file.'],
  too_large: [413, 'The file exceeds the largest size served.'],
  method_not_allowed: [405, 'Resources can only be read, with GET.'],
  io_error: [500, 'The file could not be read.'],
  malformed_handle: [400, 'The path holds no peer handle of a version that is known here.'],
  missing_audience: [400, 'The header x-svc-audience is missing.'],
  // One text for every reason: it must not reveal which of them it was.
  handle_not_valid: [403, 'The handle is not valid here for this audience.'],
  handle_expired: [410, 'The handle has expired.'],
} as const satisfies Record<string, readonly [number, string]>;

export type ResourceRefusalCode = keyof typeof resourceRefusals;

/** The code that a refusal names; null for any other code. For programs that use the package: those of this repository do not need it. */
export function decodeResourceRefusal(error: string | null): ResourceRefusalCode | null {
  return oneOf(error, Object.keys(resourceRefusals) as ResourceRefusalCode[]);
}
