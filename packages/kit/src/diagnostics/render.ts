/** Writes errors and warnings the way a person reads them on a terminal. */

import picocolors from 'picocolors';

import type { Diagnostic, SourceLocation } from './diagnostic.ts';
import { printable } from './printable.ts';
import type { Redactor } from './redactor.ts';

interface RenderOptions {
  readonly color: boolean;
  /** The text of a file, to show the line a diagnostic is about; without it only the place is named. */
  readonly sourceOf?: (file: string) => string | undefined;
  readonly redactor?: Redactor;
}

/**
 * A diagnostic for a person. The first line is `error[CODE]: message`, or `warning[CODE]: message` for a `W-` code; then come the
 * place and the line it is in, and a `hint:` line, each only when there is one (D1 "Errors"). What a hint repeats in lines of their own, such as the last
 * words of a program, stands below it, each line behind a bar. Ends with a line feed.
 */
export function renderDiagnostic(diagnostic: Diagnostic, options: RenderOptions): string {
  const colors = picocolors.createColors(options.color);
  const isWarning = diagnostic.code.startsWith('W-');
  const label = `${isWarning ? 'warning' : 'error'}[${diagnostic.code}]`;
  const paint = isWarning ? colors.yellow : colors.red;
  const lines = [`${paint(label)}: ${oneLine(diagnostic.message)}`];
  if (diagnostic.location !== undefined) lines.push(...renderPlace(diagnostic.location, options));
  if (diagnostic.hint !== undefined) lines.push(...renderHint(diagnostic.hint, colors.cyan('hint')));
  const text = `${lines.join('\n')}\n`;
  return options.redactor?.redact(text) ?? text;
}

/** The lines that a hint shows below its first one. */
const mostLines = 40;

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
  const shown = [place, `${gutter} ${colors.blue('|')}`, `${colors.blue(`${number} |`)} ${text}`];
  return marker === '' ? shown : [...shown, `${gutter} ${colors.blue('|')} ${colors.red(marker)}`];
}

function renderHint(hint: string, label: string): readonly string[] {
  const [first = '', ...more] = hint.trimEnd().split(/\r?\n/);
  const cut = more.length > mostLines ? ['\u2026', ...more.slice(-mostLines)] : more;
  return [`${label}: ${oneLine(first)}`, ...cut.map((line) => `  | ${printable(line.replaceAll('\t', '  '))}`)];
}

function oneLine(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n]+\s*/g, ' '));
}

interface Excerpt {
  /** The line, or the part of it around the place. */
  readonly text: string;
  /** Spaces and carets, to stand below `text`; empty where the place is in a part that is not shown. */
  readonly marker: string;
}

/** Stands for a credential and for all that comes behind it. */
const mark = '[secret]';
const widest = 100;
const contextBefore = 40;

/**
 * The key and its separator, then what may be a credential: anything but a `${VARIABLE}` reference, a number of tokens, or the name that a rule of the trust
 * policy calls a public key by.
 */
const credential =
  /((?<![\w-])(?!max_(?:session_)?tokens\b)(?!key\s*:(?<=\bsigned_by\b.{0,80}))[\w-]*(?:key|token|secret|password|passphrase|credential)s?["']?\s*:\s*)(?!\s|["']?\$\{\w+\})(\S.*)$/i;
/** The public keys of a trust policy on one line: each a name, and a file that no key could be taken for. */
const keyFiles = (() => {
  const entry = String.raw`["']?[\w.-]+["']?\s*:\s*["']?(?:(?:\.{1,2}|~)/[^\s,{}"']*|[^\s,{}"']+\.(?:pub|pem))["']?\s*`;
  return new RegExp(String.raw`(?<![\w"'-])keys\s*:\s*\{\s*${entry}(?:,\s*${entry})*\}`);
})();
const wide =
  /^[\p{Extended_Pictographic}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]$/u;

/** One line of a file with the place underlined. Safe for a terminal, and without the value of a key that names a credential. */
export function renderExcerpt(line: string, { column, length = 1 }: { column: number; length?: number }): Excerpt {
  const whole = line.trimEnd();
  const shown = withoutCredential(whole);
  // A place at the very beginning of the credential is the credential's own.
  const isHidden = shown !== whole && column - 1 > shown.length - mark.length;
  const start = Math.min(column - 1, shown.length);
  const end = Math.max(start + 1, Math.min(start + length, shown.length));
  const from = shown.length <= widest ? 0 : Math.max(0, start - contextBefore);
  const to = from + widest;
  const head = from > 0 ? '…' : '';
  const tail = to < shown.length ? '…' : '';
  const before = head + cell(shown.slice(from, start));
  const marked = cell(shown.slice(start, Math.min(end, to)));
  const after = cell(shown.slice(Math.min(end, to), to)) + tail;
  return {
    text: `${before}${marked}${after}`,
    marker: isHidden ? '' : `${' '.repeat(cells(before))}${'^'.repeat(Math.max(1, cells(marked)))}`,
  };
}

function withoutCredential(line: string): string {
  const [files = ''] = keyFiles.exec(line) ?? [];
  const at = files === '' ? 0 : line.indexOf(files);
  const before = line.slice(0, at);
  // What is left out goes on to the end of the line.
  if (credential.test(before)) return before.replace(credential, `$1${mark}`);
  return before + files + line.slice(at + files.length).replace(credential, `$1${mark}`);
}

function cell(text: string): string {
  return printable(text.replaceAll('\t', '  '));
}

/** Columns of a terminal. */
function cells(text: string): number {
  return Array.from(text).reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}
