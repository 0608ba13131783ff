import type { Delegations } from '../delegation/delegations.ts';
import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { BackgroundCommands } from '../tools/background/background-commands.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import type { PreparedLaunch } from './prepare.ts';
import type { SessionComponents } from './session-components.ts';
import type { SessionDirectories } from './session-directories.ts';
import type { SessionProcesses } from './session-processes.ts';
import type { SessionServers } from './session-servers.ts';

/** What tools, hooks and the driver of a session are made of. */
export interface StageParts {
  readonly launch: PreparedLaunch;
  readonly directories: SessionDirectories;
  /** Of all logs of the session. */
  readonly logs: LogBudget;
  readonly components: SessionComponents;
  readonly processes: SessionProcesses;
  /** Made when the first MCP server is met. */
  readonly servers: () => Promise<SessionServers>;
  readonly background: BackgroundCommands;
  /** Null for a session that may not delegate. */
  readonly delegations: Delegations | null;
}

/** The grants of an artifact that is a tool, a driver or a hook. */
export function grantsOf({ grants }: PreparedLaunch, name: string): ArtifactGrants {
  const own = grants.artifacts.find((each) => each.name === name);
  if (own === undefined) throw new Error(`${name} was not lowered`);
  return own;
}
