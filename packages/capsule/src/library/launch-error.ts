/** Turns the diagnostics of a launch into errors for users of the library. */

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { CapsuleError } from './capsule-error.ts';
import type { Problem } from './requests.ts';

/** Returns the error with which `runCapsule` rejects when the launch failed with `error`. If that is not a diagnostic, it is a bug, and stays as it is. */
export function launchError(error: unknown): unknown {
  if (error instanceof Diagnostic) return new CapsuleError([problemOf(error)], error);
  if (!(error instanceof DiagnosticList)) return error;
  const [first, ...more] = error.diagnostics.map(problemOf);
  return first === undefined ? error : new CapsuleError([first, ...more], error);
}

export function problemOf({ code, message, hint, location }: Diagnostic): Problem {
  const place = location === undefined ? '' : `${location.file}:${location.line}:${location.column}: `;
  return { code, message: `${place}${message}`, hint };
}
