/** Errors and warnings that a person can act on. */

import type { DiagnosticCode } from './catalogue.ts';

/** A place in a file an operator wrote; line and column count from 1. */
export interface SourceLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Characters the caret line underlines; 1 when absent. */
  readonly length?: number;
}

interface DiagnosticDetails {
  readonly hint?: string;
  readonly location?: SourceLocation;
  readonly cause?: unknown;
}

/**
 * Something an operator can act on: a code of the catalogue, one sentence, and where it helps a hint and a place.
 * Rendered as `error[CODE]: message` with an optional `hint:` line (D1 "Errors").
 */
export class Diagnostic extends Error {
  readonly code: DiagnosticCode;
  readonly hint: string | undefined;
  readonly location: SourceLocation | undefined;

  constructor(code: DiagnosticCode, message: string, details: DiagnosticDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'Diagnostic';
    this.code = code;
    this.hint = details.hint;
    this.location = details.location;
  }
}

/** Several problems reported at once, in the order of the file they were found in. Never empty. */
export class DiagnosticList extends Error {
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map((diagnostic) => `${diagnostic.code}: ${diagnostic.message}`).join('\n'));
    this.name = 'DiagnosticList';
    this.diagnostics = diagnostics;
  }
}

/** A bug that no caller waits for: it ends the process as an uncaught exception. */
export function raise(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** The Diagnostic that `work` throws; null when it does not. Anything else is thrown on. */
export function diagnosticOf(work: () => void): Diagnostic | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof Diagnostic) return error;
    throw error;
  }
}
