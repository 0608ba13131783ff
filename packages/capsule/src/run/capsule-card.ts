/** Makes the agent card of a session. */

import { agentCard, type AgentCard } from '@svc/protocol/agent-card.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

/** The agent card of a session that listens at `url`, a `host:port`, and offers these tools (D1 "Agent card"). */
export function cardOf(
  { launch, sessionId, url }: { readonly launch: PreparedLaunch; readonly sessionId: SessionId; readonly url: string },
  offered: readonly Tool[],
): AgentCard {
  const { loaded, scope } = launch;
  const { manifest } = loaded;
  const installed = new Set(manifest.artifacts.map((artifact) => artifact.name));
  return agentCard({
    name: manifest.name,
    version: manifest.version,
    url,
    sessionId,
    tools: [...new Set(offered.map(({ name, artifact }) => artifact ?? name))].filter((name) => installed.has(name)),
    shellAllow: scope.shell_allow,
    networkAllow: scope.network_allow,
    taskAcceptance: manifest.lifecycle.task_acceptance,
    exports: { files: manifest.exports.files !== undefined, peer_files: manifest.exports.peer_files !== undefined },
  });
}
