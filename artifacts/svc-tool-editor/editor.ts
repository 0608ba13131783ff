/** Runs the command of the editor that a call names. */

import { failed, type ToolOutput } from '@svc/guest/tool.ts';
import { isObject, parseJson } from '@svc/guest/json.ts';
import { EditArguments } from './edit-arguments.ts';
import { FileFault, type FileTree } from './file-tree.ts';
import { listFiles } from './list-files.ts';
import { patchFile } from './patch-file.ts';
import { readFile } from './read-file.ts';
import { searchFiles } from './search-files.ts';
import { writeFile } from './write-file.ts';

type Command = (tree: FileTree, args: EditArguments) => ToolOutput;

const commands: ReadonlyMap<string, Command> = new Map([
  ['read', readFile],
  ['write', writeFile],
  ['patch', patchFile],
  ['list', listFiles],
  ['search', searchFiles],
]);

/** One call of the editor. What cannot be done is a failed output of one sentence, never an exception. */
export function edit(tree: FileTree, argumentsText: string): ToolOutput {
  const parsed = parseJson(argumentsText);
  if (!isObject(parsed)) return failed('the arguments must be a JSON object');
  try {
    const args = new EditArguments(parsed);
    const command = commands.get(args.text('command'));
    if (command === undefined) return failed(`command must be one of ${[...commands.keys()].join(', ')}`);
    return command(tree, args);
  } catch (error) {
    if (error instanceof FileFault) return failed(error.message);
    throw error;
  }
}
