/** Makes the tools of MCP servers on the web. */

import { remoteServerOf } from '@svc/artifacts/manifest/artifact-place.ts';
import { authHeaders } from '@svc/artifacts/manifest/server-headers.ts';
import { toolsFile } from '@svc/artifacts/store/inspect-content.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { defaultDeadlineSecs } from '@svc/artifacts/grants/effective-grants.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { pinnedTools } from '@svc/session/tools/mcp/pinned-tools.ts';
import { remoteServer } from '@svc/session/tools/mcp/remote-server.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
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
  const servers = await parts.servers();
  return await servers.tools(artifact, {
    place: remoteServer({
      url,
      allow: grants.networkAllow,
      proxyFor: network.proxyFor,
      headers: authHeaders(entry, env),
    }),
    pinned: pinnedTools(listed.value as readonly unknown[]),
    deadlineMs: (loaded.manifest.capabilities.limits?.deadline ?? defaultDeadlineSecs) * 1000,
  });
}

function notNamed(name: string, url: URL): Diagnostic {
  return new Diagnostic('E-CAP-016', `the server of ${name} is ${url.href}, which its entry does not name`, {
    hint: `set from: mcp+${url.href} on its entry, which lets svc ask that server`,
  });
}
