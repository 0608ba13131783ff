import type { ArtifactSource } from '@svc/artifacts/store/installed-artifact.ts';
import type { CommandContext } from './command-context.ts';

/** The sources of the registry in use; what asks them is read, and the registry found out, when they are first needed. */
export function lateSources(
  context: CommandContext,
  choice: { readonly flag: string | undefined; readonly signal: AbortSignal },
): () => Promise<readonly ArtifactSource[]> {
  const open = async (): Promise<readonly ArtifactSource[]> => {
    const { lazySources, registryChoice } = await import('./registry.ts');
    return lazySources(registryChoice(context, choice))();
  };
  let sources: Promise<readonly ArtifactSource[]> | null = null;
  return async () => await (sources ??= open());
}
