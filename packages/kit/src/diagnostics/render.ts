/** Writes errors and warnings the way a person reads them on a terminal. */

import picocolors from 'picocolors';

import type { Diagnostic, SourceLocation } from './diagnostic.ts';
import { printable } from './printable.ts';
import type { Redactor } from './redactor.ts';
import { renderExcerpt } from './source-excerpt.ts';

export interface RenderOptions {
  readonly color: boolean;
  /** The text of a file, to show the line a diagnostic is about; without it only the place is named. */
  readonly sourceOf?: (file: string) => string | undefined;
  readonly redactor?: Redactor;
}

/**
 * A diagnostic for a person. The first line is `error[CODE]: message`, or `warning[CODE]: message` for a `W-` code; then come the
 * place and the line it is in, and a `hint:` line, each only when there is one (D1 "Errors"). Ends with a line feed.
 */
export function renderDiagnostic(diagnostic: Diagnostic, options: RenderOptions): string {
  const colors = picocolors.createColors(options.color);
  const isWarning = diagnostic.code.startsWith('W-');
  const label = `${isWarning ? 'warning' : 'error'}[${diagnostic.code}]`;
  const paint = isWarning ? colors.yellow : colors.red;
  const lines = [`${paint(label)}: ${oneLine(diagnostic.message)}`];
  if (diagnostic.location !== undefined) lines.push(...renderPlace(diagnostic.location, options));
  if (diagnostic.hint !== undefined) lines.push(`${colors.cyan('hint')}: ${oneLine(diagnostic.hint)}`);
  const text = `${lines.join('\n')}\n`;
  return options.redactor?.redact(text) ?? text;
}

/** Several diagnostics, with a blank line after one that shows its source. */
export function renderDiagnostics(diagnostics: readonly Diagnostic[], options: RenderOptions): string {
  const rendered = diagnostics.map((diagnostic) => renderDiagnostic(diagnostic, options));
  const isSpaced = diagnostics.some(({ location }) => location !== undefined);
  return rendered.join(isSpaced ? '\n' : '');
}

function renderPlace(location: SourceLocation, { color, sourceOf }: RenderOptions): string[] {
  const colors = picocolors.createColors(color);
  const place = ` ${colors.blue('-->')} ${printable(location.file)}:${location.line}:${location.column}`;
  const line = sourceOf?.(location.file)?.split('\n')[location.line - 1];
  if (line === undefined) return [place];
  const number = String(location.line);
  const gutter = ' '.repeat(number.length);
  const { text, marker } = renderExcerpt(line, location);
  return [
    place,
    `${gutter} ${colors.blue('|')}`,
    `${colors.blue(`${number} |`)} ${text}`,
    `${gutter} ${colors.blue('|')} ${colors.red(marker)}`,
  ];
}

function oneLine(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n]+\s*/g, ' '));
}
