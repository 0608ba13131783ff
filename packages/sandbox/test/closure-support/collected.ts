import { addProgram, isShellScript, shellScriptProblem, withoutShim } from '../../src/closure/closure.ts';
import { type CollectedFiles, FileCollection, type FileHost } from '../../src/closure/file-collection.ts';
import { addBaseline, addCommands } from '../../src/closure/needed-files.ts';

/** What any program may open. */
export function baselineFiles(host: FileHost): CollectedFiles {
  const files = new FileCollection(host);
  addBaseline(files);
  return files.result();
}

/** What the kernel and the loader open to start a program. */
export function programClosure(path: string, host: FileHost, searchPath: readonly string[]): CollectedFiles {
  const files = new FileCollection(host);
  if (isShellScript(addProgram(files, path, searchPath))) files.problem(shellScriptProblem(path));
  return files.result();
}

/** The files of one command, and what is started for it. */
export interface CommandFiles extends CollectedFiles {
  readonly program: string;
}

/** What a command needs in order to run and to do its work, beside the baseline. */
export function commandFiles(path: string, host: FileHost, searchPath: readonly string[]): CommandFiles {
  const files = new FileCollection(host);
  const program = withoutShim(files, path, searchPath) ?? path;
  addCommands(files, [path], searchPath);
  return { program, ...files.result() };
}
