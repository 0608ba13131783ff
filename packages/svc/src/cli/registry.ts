import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactSource } from '@svc/artifacts/store/installed-artifact.ts';
import { HttpClient } from '@svc/kit/net/http-client.ts';
import { proxyFor } from '@svc/kit/net/proxy.ts';
import { type RegistryChoice, registryInUse, sourcesOf } from '@svc/artifacts/store/sources/registry-in-use.ts';
import type { CommandContext } from './command-context.ts';
import { render } from './render-failure.ts';

/** What decides which registry a command talks to; `signal` ends its requests. */
export function registryChoice(
  context: CommandContext,
  { flag, signal }: { readonly flag: string | undefined; readonly signal: AbortSignal },
): RegistryChoice {
  const { env, home, stderr } = context;
  const onWarning = (warning: Diagnostic): void => void stderr.write(render([warning], context));
  return { flag, env, home, http: new HttpClient({ signal, proxyFor: (url) => proxyFor(url, env) }), onWarning };
}

/** The sources of the registry in use, found out when they are first needed. */
export function lazySources(choice: RegistryChoice): () => readonly ArtifactSource[] {
  let sources: readonly ArtifactSource[] | null = null;
  return () => (sources ??= sourcesOf(registryInUse(choice)));
}
