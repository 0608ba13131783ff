import { join } from 'node:path';

import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { stageNative } from '@svc/artifacts/store/stage-native.ts';
import { createNativeTool } from '../tools/native-tool.ts';
import type { Tool } from '../tools/tool.ts';
import { grantsOf, type StageParts } from './stage-parts.ts';
import { namedFiles, toolProcess } from './tool-process.ts';

/** The tool of an artifact with `implementation: native`, whose program is written into the session's directory. */
export async function nativeTool(artifact: InstalledArtifact, parts: StageParts): Promise<Tool> {
  const { launch, directories } = parts;
  const { name, description, input_schema: inputSchema = { type: 'object' } } = artifact.manifest;
  const grants = grantsOf(launch, name);
  const program = await stageNative(artifact, join(directories.session, 'tools'));
  const deadlineMs = grants.deadlineSecs * 1000;
  const { hiddenIn } = namedFiles(artifact, parts);
  const process = toolProcess(parts, grants);
  return createNativeTool({ name, description, inputSchema, deadlineMs, program, hiddenIn, ...process });
}
