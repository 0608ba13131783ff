/** Makes the tools of MCP servers on the web. */

import { remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import { ofLogin } from '@svc/artifacts/manifest/names.ts';
import { authSecrets } from '@svc/artifacts/manifest/server-auth.ts';
import { authClient, authHeaders, type OwnClient } from '@svc/artifacts/manifest/server-headers.ts';
import { toolsFile } from '@svc/artifacts/store/inspect-content.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { defaultDeadlineSecs } from '@svc/artifacts/grants/effective-grants.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { pinnedTools } from '@svc/session/tools/mcp/pinned-tools.ts';
import type { HeardSecrets } from '@svc/session/tools/mcp/login/told-secrets.ts';
import { remoteServer } from '@svc/session/tools/mcp/remote-server.ts';
import type { ServerTokens } from '@svc/session/tools/mcp/server-requests.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { StageParts } from './stage-parts.ts';

/** The tools that were accepted for an artifact, whose server svc itself asks. It is asked for nothing before the first call. */
export async function remoteTools(artifact: InstalledArtifact, url: URL, parts: StageParts): Promise<readonly Tool[]> {
  const { entry, manifest } = artifact;
  const { launch } = parts;
  if (remoteServerOf(entry.from)?.href !== url.href) throw notNamed(manifest.name, url);
  const listed = parseJsonText((await artifact.read(toolsFile)).toString('utf8'));
  if (listed.kind !== 'json' || !Array.isArray(listed.value)) {
    throw new Diagnostic('E-ART-004', `${artifact.location}: ${toolsFile} is no list of JSON`);
  }
  const { grants, network, env, loaded } = launch;
  const headers = authHeaders(entry, env);
  // A server that repeats what it was shown does not make it known to the model.
  const shown = new Redactor();
  for (const secret of authSecrets([entry], env)) shown.register(secret);
  const client = authClient(entry, env);
  const tokens =
    entry.auth === ofLogin
      ? { tokens: await loginOf(url, launch, shown) }
      : client !== null
        ? { tokens: await clientOf(url, { client, launch, shown }) }
        : {};
  await shown.learnSpellings();
  const servers = await parts.servers();
  return await servers.tools(artifact, {
    place: remoteServer({
      url,
      allow: grants.networkAllow,
      proxyFor: network.proxyFor,
      headers,
      ...tokens,
      traffic: parts.traffic(manifest.name),
    }),
    redact: (text) => shown.redact(text),
    pinned: pinnedTools(listed.value as readonly unknown[]),
    deadlineMs: (loaded.manifest.capabilities.limits?.deadline ?? defaultDeadlineSecs) * 1000,
  });
}

/** The login of this user. `E-RUN-241` where the manifest has none to use; from then on no record holds its tokens. */
async function loginOf(
  { href }: URL,
  { places, source, network, redactor }: PreparedLaunch,
  shown: Redactor,
): Promise<ServerTokens> {
  const [{ loginPlace, usableLogin }, { LoginTokens }] = await Promise.all([
    import('@svc/session/tools/mcp/login/kept-login.ts'),
    import('@svc/session/tools/mcp/login/login-tokens.ts'),
  ]);
  const place = loginPlace(href, places.userHome, process.getuid?.());
  const now = (): number => systemClock.now();
  const login = usableLogin(place, href, { folder: source.manifestDirectory, nowMs: now() });
  const tokens = new LoginTokens({ place, login, proxyFor: network.proxyFor, now, ...heardBy(redactor, shown) });
  await redactor.learnSpellings();
  return tokens;
}

interface OwnClientUse {
  readonly client: OwnClient;
  readonly launch: PreparedLaunch;
  readonly shown: Redactor;
}

/** Asks nobody before the first call. */
async function clientOf(server: URL, { client, launch, shown }: OwnClientUse): Promise<ServerTokens> {
  const { ClientTokens } = await import('@svc/session/tools/mcp/login/client-tokens.ts');
  const { network, redactor } = launch;
  const now = (): number => systemClock.now();
  return new ClientTokens({ server, ...client, proxyFor: network.proxyFor, now, ...heardBy(redactor, shown) });
}

function heardBy(...redactors: readonly Redactor[]): HeardSecrets {
  return {
    onSecret: (secret) => {
      for (const each of redactors) each.register(secret);
    },
    onEnded: (secret) => {
      for (const each of redactors) each.forget(secret);
    },
  };
}

function notNamed(name: string, url: URL): Diagnostic {
  return new Diagnostic('E-CAP-016', `the server of ${name} is ${url.href}, which its entry does not name`, {
    hint: `set from: mcp+${url.href} on its entry, which lets svc ask that server`,
  });
}
