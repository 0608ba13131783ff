import { delimiter, isAbsolute, join } from 'node:path';

import { containedEnvironment } from '@svc/sandbox/contained-environment.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { LaunchScope } from './scope-of-launch.ts';

type CommandQuestion = Pick<LaunchScope, 'loaded' | 'env' | 'source'>;

/** `W-RUN-003` for every listed command that is not installed: the model gets a tool for it that cannot work. */
export function absentCommands(question: CommandQuestion): readonly Diagnostic[] {
  const names = question.loaded.manifest.capabilities.shell?.allow ?? [];
  const path = names.length === 0 ? '' : searchPath(question);
  return names.flatMap((name, index) => {
    const found = findProgram(name, path);
    if (found.kind === 'found') return [];
    const location = question.loaded.locate(['capabilities', 'shell', 'allow', index], 'value');
    const message = `capabilities.shell.allow lists ${name}, which cannot be run here: ${found.reason}`;
    return [new Diagnostic('W-RUN-003', message, { location, hint: 'install it, or take it off the list' })];
  });
}

/**
 * `W-RUN-003` for what listed commands need and the host does not have. Reads all files that they need, which takes too long for a
 * launch; there the call that fails tells of it.
 */
export async function commandProblems(question: CommandQuestion): Promise<readonly Diagnostic[]> {
  const names = question.loaded.manifest.capabilities.shell?.allow ?? [];
  if (names.length === 0) return [];
  const path = searchPath(question);
  const programs = names.map((name) => findProgram(name, path));
  const [{ neededFiles }, { systemFiles }] = await Promise.all([
    import('@svc/sandbox/closure/needed-files.ts'),
    import('@svc/sandbox/closure/file-host.ts'),
  ]);
  const { problems } = neededFiles(
    programs.flatMap((program) => (program.kind === 'found' ? [program.path] : [])),
    systemFiles,
    path.split(delimiter).filter(isAbsolute),
  );
  const location = question.loaded.locate(['capabilities', 'shell', 'allow'], 'key');
  return problems.map((problem) => new Diagnostic('W-RUN-003', `capabilities.shell.allow: ${problem}`, { location }));
}

/** The `PATH` that commands will have. */
function searchPath({ loaded, env, source }: CommandQuestion): string {
  const { PATH = '' } = containedEnvironment({
    accessibleWorkdir: join(source.root, 'workdir'),
    achieved: 'advisory',
    held: env,
    allow: loaded.manifest.capabilities.env?.allow ?? [],
  });
  return PATH;
}
