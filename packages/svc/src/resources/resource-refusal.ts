import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';

/** Every refusal of both planes (D3 "Errors"). */
const refusals = {
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
  // One text for every reason: it must not tell which of them it was.
  handle_not_valid: [403, 'The handle is not valid here for this audience.'],
  handle_expired: [410, 'The handle has expired.'],
} as const satisfies Record<string, readonly [number, string]>;

export type ResourceRefusalCode = keyof typeof refusals;

/** The refusal with its status and one fixed text, so that nothing of the host is told. */
export function resourceRefusal(code: ResourceRefusalCode): HttpRefusal {
  const [status, message] = refusals[code];
  return new HttpRefusal(status, code, message, code === 'method_not_allowed' ? { allow: 'GET' } : undefined);
}

/** What a failed file operation means to a reader; undefined when the error is none of the operating system's. */
export function refusalOfSystemError(error: unknown): ResourceRefusalCode | undefined {
  if (!isSystemError(error)) return undefined;
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return 'not_found';
    // What opening a socket answers.
    case 'ENXIO':
      return 'not_a_regular_file';
    default:
      return 'io_error';
  }
}
