import type { ComponentHost } from '../components/component-host.ts';
import type { Driver } from '../inference/driver.ts';
import type { Tool } from '../tools/tool.ts';
import type { PreparedLaunch } from './prepare.ts';
import { SessionComponents } from './session-components.ts';
import type { SessionDirectories } from './session-directories.ts';
import { SessionProcesses } from './session-processes.ts';
import { stageDriver } from './stage-driver.ts';
import { stageTools } from './stage-tools.ts';

export interface StageRequest {
  readonly launch: PreparedLaunch;
  readonly directories: SessionDirectories;
  readonly host: ComponentHost;
}

/** What a session runs with. */
export interface StagedSession {
  readonly tools: readonly Tool[];
  readonly driver: Driver;
  readonly close: () => Promise<void>;
}

/** What the agent loop calls, from the artifacts, the shell grants and the driver of a capsule. Compiles and starts nothing. */
export async function stageSession({ launch, directories, host }: StageRequest): Promise<StagedSession> {
  const { containment, env } = launch;
  const components = new SessionComponents({ host, workdir: directories.workdir, env });
  const processes = new SessionProcesses({ containment, directories, env });
  const parts = { launch, directories, components, processes };
  const tools = await stageTools(parts);
  const driver = stageDriver(parts);
  return {
    tools,
    driver,
    close: async () => {
      await driver.close();
      await components.close();
      await processes.close();
    },
  };
}
