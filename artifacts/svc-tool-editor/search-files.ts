/** Finds lines in files for a model. */

import { passed, type ToolOutput } from '@svc/guest/tool.ts';
import type { EditArguments } from './edit-arguments.ts';
import { FileFault, shown, type FileTree } from './file-tree.ts';
import { decodeText } from './text-file.ts';
import { walk } from './walk.ts';

/** Bounds of one search. */
export const searchLimits = { results: 200, fileBytes: 2 * 1024 * 1024, totalBytes: 64 * 1024 * 1024, entries: 50_000 };
const maxLine = 300;

type LineTest = (line: string) => boolean;

/** `search`: `<path>:<line>: <text>` for each line that matches. */
export function searchFiles(tree: FileTree, args: EditArguments): ToolOutput {
  const pattern = args.text('pattern');
  if (pattern === '') throw new FileFault('pattern is empty');
  const path = args.anyPath();
  const search = new Search(tree, lineTest(pattern, args.flag('regex'), args.flag('ignore_case')));
  search.run(path);
  return search.output(`no line matches in ${shown(path)}`);
}

function lineTest(pattern: string, isRegex: boolean, ignoreCase: boolean): LineTest {
  if (isRegex) {
    const expression = compile(pattern, ignoreCase);
    return (line) => expression.test(line);
  }
  if (!ignoreCase) return (line) => line.includes(pattern);
  const lowered = pattern.toLowerCase();
  return (line) => line.toLowerCase().includes(lowered);
}

function compile(pattern: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(pattern, ignoreCase ? 'i' : '');
  } catch (error) {
    if (error instanceof SyntaxError) throw new FileFault(`pattern is not a regular expression: ${error.message}`);
    throw error;
  }
}

class Search {
  readonly #tree: FileTree;
  readonly #matches: LineTest;
  readonly #results: string[] = [];
  #bytes = 0;
  #skipped = 0;
  #stopped = '';

  constructor(tree: FileTree, matches: LineTest) {
    this.#tree = tree;
    this.#matches = matches;
  }

  run(path: string): void {
    const found = this.#tree.stat(path);
    if (found === null) throw new FileFault(`${path} does not exist`);
    if (found.kind !== 'directory') {
      this.#searchFile(path);
      return;
    }
    let entries = 0;
    for (const entry of walk(this.#tree, path, true)) {
      entries += 1;
      if (entries > searchLimits.entries) this.#stopped = `${searchLimits.entries} files and directories`;
      if (entry.fault !== null) this.#skipped += 1;
      if (entry.kind === 'file' && this.#stopped === '') this.#searchFile(entry.path);
      if (this.#stopped !== '') return;
    }
  }

  output(nothing: string): ToolOutput {
    const lines = this.#results.length === 0 ? [nothing] : [...this.#results];
    if (this.#skipped > 0)
      lines.push(`[skipped ${this.#skipped} binary, large or unreadable ${this.#skipped === 1 ? 'entry' : 'entries'}]`);
    if (this.#stopped !== '')
      lines.push(`[stopped after ${this.#stopped}; search a directory below or a narrower pattern]`);
    return passed(lines.join('\n'), this.#stopped !== '');
  }

  #searchFile(path: string): void {
    const text = this.#read(path);
    if (text === null) {
      this.#skipped += 1;
      return;
    }
    for (const [index, line] of text.split('\n').entries()) {
      const bare = line.endsWith('\r') ? line.slice(0, -1) : line;
      if (!this.#matches(bare)) continue;
      if (this.#results.length === searchLimits.results) {
        this.#stopped = `${searchLimits.results} matches`;
        return;
      }
      this.#results.push(`${path}:${index + 1}: ${bare.length > maxLine ? `${bare.slice(0, maxLine)}…` : bare}`);
    }
  }

  /** Returns null for a file that is not searched. One that cannot be read, or vanishes meanwhile, does not end the search. */
  #read(path: string): string | null {
    try {
      const bytes = this.#tree.read(path, searchLimits.fileBytes + 1);
      this.#bytes += bytes.length;
      if (this.#bytes > searchLimits.totalBytes) this.#stopped = `${searchLimits.totalBytes / 1024 ** 2} MiB`;
      return bytes.length > searchLimits.fileBytes ? null : decodeText(bytes);
    } catch (error) {
      if (error instanceof FileFault) return null;
      throw error;
    }
  }
}
