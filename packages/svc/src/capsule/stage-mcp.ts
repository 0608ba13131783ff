import { basename, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { serverFile } from '@svc/artifacts/manifest/schema.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { stageProgram } from '@svc/artifacts/store/stage-native.ts';
import type { Tool } from '../tools/tool.ts';
import { grantsOf, type StageParts } from './stage-parts.ts';
import { namedFiles, toolProcess } from './tool-process.ts';

/** The tools of an artifact with `implementation: mcp`, whose server is contained as a native tool is. */
export async function mcpTools(artifact: InstalledArtifact, parts: StageParts): Promise<readonly Tool[]> {
  const { launch, servers } = parts;
  const grants = grantsOf(launch, artifact.manifest.name);
  const { words, reads, hiddenIn } = namedFiles(artifact, parts);
  return await (
    await servers()
  ).tools(artifact, {
    ...toolProcess(parts, grants, reads),
    command: await programOf(artifact, parts),
    args: words.slice(1),
    hiddenIn,
    deadlineMs: grants.deadlineSecs * 1000,
  });
}

/** The staged file of the archive, under its own name: an interpreter may go by how it ends. Or a granted program of the host. */
async function programOf(artifact: InstalledArtifact, { launch, directories }: StageParts): Promise<string> {
  const { name, command = [] } = artifact.manifest;
  const file = serverFile(command);
  if (file !== null)
    return await stageProgram(artifact, file, join(directories.session, 'tools', name, basename(file)));
  const [program = ''] = command;
  if (launch.grants.shellAllow.includes(program)) return program;
  throw new Diagnostic(
    'E-CAP-016',
    `the server of ${name} is the program ${program}, which capabilities.shell.allow does not list`,
    {
      hint: `list ${program} there, or use an artifact that brings its server along`,
    },
  );
}
