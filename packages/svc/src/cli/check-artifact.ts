import { hookProblem } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { ArtifactManifest } from '@svc/artifacts/manifest/schema.ts';
import { inputSchemaProblem } from '../tools/argument-check.ts';

/** A tool whose arguments could never be checked, or a hook that could not be staged, is found here, not when it is used. */
export async function checkArtifact(manifest: ArtifactManifest): Promise<void> {
  const { name, input_schema: schema } = manifest;
  const problem = hookProblem(manifest) ?? (schema === undefined ? null : await inputSchemaProblem(name, schema));
  if (problem !== null) throw problem;
}
