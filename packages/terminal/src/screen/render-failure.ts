/** Writes errors and warnings for people. */

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { renderDiagnostics } from '@svc/kit/diagnostics/render.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { redactHandles } from '@svc/kit/diagnostics/handle-id.ts';
import type { CommandContext } from './command-context.ts';
import { Shown } from './shown.ts';

/** Coded failures and warnings as a person reads them, for stderr, with no peer handle in them (D3 "Peer handle"). */
export function render(diagnostics: readonly Diagnostic[], context: CommandContext): Shown {
  return Shown.cleaned(redactHandles(renderDiagnostics(diagnostics, { color: usesColor(context), sourceOf })));
}

/** The lines of a coded failure; null for anything else, which is a bug. */
export function renderFailure(error: unknown, context: CommandContext): Shown | null {
  const diagnostics = diagnosticsIn(error);
  return diagnostics === null ? null : render(diagnostics, context);
}

/** What an error says to an operator, never empty; null for a bug. */
export function diagnosticsIn(error: unknown): readonly Diagnostic[] | null {
  if (error instanceof Diagnostic) return [error];
  if (error instanceof DiagnosticList) return error.diagnostics;
  return lacksDescriptors(error) ? [outOfDescriptors(error)] : null;
}

/** Any opening of a file can meet this limit, at any place: it is the machine's, and no bug. */
function lacksDescriptors(error: unknown): error is Error & { readonly code: string } {
  return isSystemError(error) && (error.code === 'EMFILE' || error.code === 'ENFILE');
}

function outOfDescriptors(error: Error & { readonly code: string }): Diagnostic {
  return new Diagnostic('E-RUN-061', `no more files can be opened: ${systemReason(error)}`, {
    hint: 'raise the limit: ulimit -n 1024',
    cause: error,
  });
}

/** Plain text under `NO_COLOR` and away from a terminal (docs/cli.md "The command line"). */
export function usesColor({ env, stderr }: CommandContext): boolean {
  const { NO_COLOR: noColor = '' } = env;
  return stderr.terminal?.hasControls === true && noColor === '';
}

function sourceOf(file: string): string | undefined {
  const reading = readSmallText(file);
  // Gone since it was read, or inside an archive: the place is named without its line.
  return reading.kind === 'text' ? reading.text : undefined;
}
