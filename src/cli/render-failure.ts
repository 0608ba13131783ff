import { Diagnostic, DiagnosticList } from '../diagnostics/diagnostic.ts';
import type { CommandContext } from './command-context.ts';

/** The lines of a coded failure; null for anything else, which is a bug. */
export function renderFailure(error: unknown, _context: CommandContext): string | null {
  if (error instanceof Diagnostic) return `error[${error.code}]: ${error.message}\n`;
  if (error instanceof DiagnosticList) return error.diagnostics.map((d) => `error[${d.code}]: ${d.message}\n`).join('');
  return null;
}
