import type { Hook } from '../hooks/hook.ts';
import { hookDeclaration } from '@svc/artifacts/manifest/hook-declaration.ts';
import { grantsOf, type StageParts } from './stage-parts.ts';

/** The hooks of a session, in the order of the manifest (ADR 0043). Compiles and starts nothing. */
export function stageHooks({ launch, components }: StageParts): readonly Hook[] {
  const artifacts = launch.artifacts.filter(({ entry }) => entry.runtime === 'hook');
  return artifacts.map((artifact) => {
    const { name } = artifact.entry;
    const grants = grantsOf(launch, name);
    return {
      name,
      declaration: hookDeclaration(artifact.manifest),
      component: components.open(artifact, grants),
      deadlineMs: grants.deadlineSecs * 1000,
    };
  });
}
