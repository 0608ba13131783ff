/** Looks through all files that listed commands need, for those who ask what a launch would do. */

import { delimiter, isAbsolute } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { neededFiles } from '@svc/sandbox/closure/needed-files.ts';
import { systemFiles } from '@svc/sandbox/closure/file-collection.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { type CommandQuestion, searchPath } from './launch-warnings.ts';

/**
 * `W-RUN-003` for what listed commands need and the host does not have. Reads all files that they need, which takes too long for a
 * launch; there the call that fails tells of it.
 */
export function commandProblems(question: CommandQuestion): readonly Diagnostic[] {
  const names = question.loaded.manifest.capabilities.shell?.allow ?? [];
  if (names.length === 0) return [];
  const path = searchPath(question);
  const programs = names.map((name) => findProgram(name, path));
  const { problems } = neededFiles(
    programs.flatMap((program) => (program.kind === 'found' ? [program.path] : [])),
    systemFiles,
    path.split(delimiter).filter(isAbsolute),
  );
  const location = question.loaded.locate(['capabilities', 'shell', 'allow'], 'key');
  return problems.map((problem) => new Diagnostic('W-RUN-003', `capabilities.shell.allow: ${problem}`, { location }));
}
