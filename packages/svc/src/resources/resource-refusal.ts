/** Says what a failed file operation means to a reader. */

import { isSystemError } from '@svc/kit/diagnostics/system-reason.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { resourceRefusals, type ResourceRefusalCode } from '@svc/protocol/resource-refusals.ts';

/** The refusal as a server answers it. */
export function resourceRefusal(code: ResourceRefusalCode): HttpRefusal {
  const [status, message] = resourceRefusals[code];
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
