/** Replaces pieces of a text file for a model. */

import { passed, type ToolOutput } from '@svc/guest/tool.ts';
import type { EditArguments } from './edit-arguments.ts';
import { FileFault, type FileTree } from './file-tree.ts';
import { readText } from './text-file.ts';
import { checkTarget, encoded, maxWrite } from './write-file.ts';

const maxLinesNamed = 10;
/** Lines of the file that are shown on each side of a replacement, and limit for each. */
const linesAround = 2;
const maxLine = 200;

/** `patch`: one exact piece of text is replaced, or with `all` each of its occurrences. */
export function patchFile(tree: FileTree, args: EditArguments): ToolOutput {
  const path = args.filePath();
  const oldText = args.text('old_text');
  const newText = args.text('new_text');
  if (oldText === '') throw new FileFault('old_text is empty; use write for a new file');
  if (oldText === newText) throw new FileFault('old_text and new_text are the same');
  const text = readText(tree, path, maxWrite);
  checkTarget(tree, path);
  const pieces = text.split(oldText);
  const matches = pieces.length - 1;
  if (matches === 0) throw new FileFault(`old_text does not occur in ${path}${hint(text, oldText)}`);
  const lines = linesOfMatches(pieces, oldText);
  if (matches > 1 && !args.flag('all')) {
    throw new FileFault(
      `old_text occurs ${matches} times in ${path}, ${atLines(lines)}; add lines around it until it occurs once, or set all`,
    );
  }
  tree.replace(path, encoded(pieces.join(newText)));
  const done = `patched ${path}: ${matches === 1 ? '1 replacement' : `${matches} replacements`} ${atLines(lines)}`;
  const around = matches === 1 ? aroundMatch(pieces, oldText, newText) : [];
  return passed(around.length === 0 ? done : [`${done}, between`, ...around].join('\n'));
}

/** The whole lines before and after the one match, as they are numbered now. */
function aroundMatch(
  [before = '', after = '']: readonly string[],
  oldText: string,
  newText: string,
): readonly string[] {
  const above = before.split('\n');
  const first = Math.max(0, above.length - 1 - linesAround);
  const numbered = (line: string, number: number): string => `${number}: ${line.slice(0, maxLine).replace(/\r$/, '')}`;
  const shown = above.slice(first, -1).map((line, index) => numbered(line, first + index + 1));
  // The rest of the line in which the match ends stands in no line of its own.
  const rest = oldText.endsWith('\n') ? 0 : 1;
  const below = after.split('\n').slice(0, rest + linesAround + 1);
  if (below.at(-1) === '') below.pop();
  const ends = above.length + newText.split('\n').length - 1;
  const last = below.slice(rest, rest + linesAround).map((line, index) => numbered(line, ends + rest + index));
  return [...shown, ...last];
}

/** The line on which each match begins, in the text as it was. */
function linesOfMatches(pieces: readonly string[], oldText: string): readonly number[] {
  const lineBreaks = (text: string): number => text.split('\n').length - 1;
  const inMatch = lineBreaks(oldText);
  const lines: number[] = [];
  let line = 1;
  for (const piece of pieces.slice(0, -1)) {
    line += lineBreaks(piece);
    lines.push(line);
    line += inMatch;
  }
  return lines;
}

function atLines(lines: readonly number[]): string {
  const named = lines.slice(0, maxLinesNamed).join(', ');
  return `at line${lines.length === 1 ? '' : 's'} ${named}${lines.length > maxLinesNamed ? ' and more' : ''}`;
}

function hint(text: string, oldText: string): string {
  if (text.includes('\r\n') && text.replaceAll('\r\n', '\n').includes(oldText.replaceAll('\r\n', '\n'))) {
    return '; its lines end with CR LF, so the line breaks of old_text must be \\r\\n';
  }
  const loosely = (some: string): string => some.replace(/\s+/g, ' ').trim();
  if (loosely(text).includes(loosely(oldText)))
    return '; it does with other white space, so read the file and copy it exactly';
  return '';
}
