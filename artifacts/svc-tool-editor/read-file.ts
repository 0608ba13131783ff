/** Shows a text file, or some lines of it, to a model. */

import { passed, type ToolOutput } from '@svc/guest/tool.ts';
import type { EditArguments } from './edit-arguments.ts';
import { FileFault, type FileTree } from './file-tree.ts';
import { readText } from './text-file.ts';

/** Largest file that is opened, and most characters that are returned of it. */
export const readLimits = { fileBytes: 16 * 1024 * 1024, characters: 64 * 1024 };

/** `read`: a file, or a range of its lines, as it is. What is left out at the end is said in a last line. */
export function readFile(tree: FileTree, args: EditArguments): ToolOutput {
  const path = args.filePath();
  const text = readText(tree, path, readLimits.fileBytes);
  if (text === '') return passed(`[${path} is empty]`);
  const lines = linesOf(text);
  const first = Math.max(1, args.line('start_line') ?? 1);
  const last = Math.min(args.line('end_line') ?? lines.length, lines.length);
  if (first > lines.length)
    throw new FileFault(`${path} has ${counted(lines.length)}; start_line ${first} is past its end`);
  if (last < first) throw new FileFault(`end_line ${last} is before start_line ${first}`);
  return cut(lines, first, last);
}

function cut(lines: readonly string[], first: number, last: number): ToolOutput {
  let end = first - 1;
  let size = 0;
  while (end < last && size + (lines[end]?.length ?? 0) <= readLimits.characters) {
    size += lines[end]?.length ?? 0;
    end += 1;
  }
  if (end === last) return passed(lines.slice(first - 1, last).join(''));
  if (end < first) {
    const start = lines[first - 1]?.slice(0, readLimits.characters) ?? '';
    return passed(
      `${start}\n[line ${first} of ${lines.length} is cut here; it is ${lines[first - 1]?.length} characters long]`,
      true,
    );
  }
  const text = lines.slice(first - 1, end).join('');
  return passed(`${text}[cut after line ${end} of ${lines.length}; read on with start_line ${end + 1}]`, true);
}

/** Each line with its line end. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  const whole = lines.map((line) => `${line}\n`);
  return rest === '' ? whole : [...whole, rest];
}

function counted(lines: number): string {
  return lines === 1 ? '1 line' : `${lines} lines`;
}
