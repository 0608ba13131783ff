/** What the tools, the hooks and the driver of a session are made of, and what their processes may do. */

import type { Recorder } from '@svc/session/recorder/recorder.ts';
import type { ProgramLogs } from './program-logs.ts';
import type { SessionProcesses } from './session-processes.ts';
import type { ComponentTraffic } from './grant-usage.ts';
import type { SessionSkills } from './session-skills.ts';
import { homeBelow } from '@svc/sandbox/contained-environment.ts';
import type { ProcessGrants, StoreDirectory } from '@svc/sandbox/launch/process-grants.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import type { SessionDirectories } from '@svc/record/sessions/session-directories.ts';
import type { Delegations } from '@svc/session/delegation/delegations.ts';
import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { shellDeclaration } from '@svc/session/tools/shell-command.ts';
import type { BackgroundCommands, BackgroundSettings } from '@svc/session/tools/background/background-commands.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { RunRequest } from '../launch/running-capsule.ts';
import type { LaterCommands } from './later-commands.ts';
import type { SessionComponents } from './session-components.ts';
import type { SessionServers } from './session-servers.ts';
import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import { flagsOf } from '@svc/artifacts/grants/flag-grants.ts';

/** What tools, hooks and the driver of a session are made of. */
export interface StageParts {
  readonly recorder: Recorder;
  readonly launch: PreparedLaunch;
  readonly directories: SessionDirectories;
  /** The bytes that all logs of the session may still take. */
  readonly logs: LogBudget;
  readonly components: SessionComponents;
  readonly processes: SessionProcesses;
  /** Made when the first MCP server is met. */
  readonly servers: () => Promise<SessionServers>;
  /** What is seen of the requests of an artifact. */
  readonly traffic: (artifact: string) => ComponentTraffic;
  /** Made when the first program is met whose standard error is kept. */
  readonly programLogs: () => Promise<ProgramLogs>;
  readonly background: BackgroundCommands;
  /** Shown to all that see the workdir; null without any whose folder holds `SKILL.md`. */
  readonly skills: SessionSkills | null;
  /** It is null for a session that may not delegate. */
  readonly delegations: Delegations | null;
  readonly driver: RunRequest['driver'];
  /** Is null where nothing is granted while the session runs. */
  readonly later: LaterCommands | null;
  /** Whether a rule of `approvals` is about programs that commands start, and whether one is about requests. */
  readonly asks: { readonly asksPrograms: boolean; readonly asksRequests: boolean };
  readonly onWarning: (warning: Diagnostic) => void;
}

/** The grants of an artifact that is a tool, a driver or a hook. */
export function grantsOf({ grants }: PreparedLaunch, name: string): ArtifactGrants {
  const own = grants.artifacts.find((each) => each.name === name);
  if (own === undefined) throw new Error(`${name} was not lowered`);
  return own;
}

/** Whether a session starts programs: commands, a driver that is one, native tools, MCP servers. */
export function hasPrograms({ grants, artifacts }: Pick<PreparedLaunch, 'grants' | 'artifacts'>): boolean {
  const hasTools = artifacts.some(
    ({ entry, manifest }) => entry.runtime === 'tool' && manifest.implementation !== 'wasm',
  );
  return grants.shellAllow.length > 0 || grants.processDriver !== null || hasTools;
}

/** What becomes of commands that outlast their calls, by `lifecycle`. */
export function backgroundSettings({
  shell_grace_secs: declared,
  task_acceptance: acceptance,
  after_task: afterTask,
}: CapsuleManifest['lifecycle']): BackgroundSettings {
  const takesTasks = acceptance === 'queue';
  const graceSecs = declared ?? (takesTasks && afterTask === 'sleep' ? graceWhereTold : graceOfItsTask);
  return { clock: systemClock, graceMs: graceSecs * 1000, endIsTold: takesTasks };
}

/** `lifecycle.shell_grace_secs` where the manifest names none (docs/manifest.md "Keys"). */
const graceWhereTold = 10;
/** A session that ends with its task would not hear of the end: a build or a test may take its time there. */
const graceOfItsTask = 600;

/** Declares the commands that the capsule may run to its model. */
export function commandDeclarations(
  { shellAllow }: EffectiveGrants,
  lifecycle: CapsuleManifest['lifecycle'],
): readonly ReturnType<typeof shellDeclaration>[] {
  const background = backgroundSettings(lifecycle);
  return [...new Set(shellAllow)].map((name) => shellDeclaration(name, background));
}

/** What the commands of a capsule may do, and its driver when that is a program. State stores belong to artifacts: they have none. */
export function capsuleProcesses({ grants, project }: Pick<PreparedLaunch, 'grants' | 'project'>): ProcessGrants {
  return {
    ...project?.grant,
    commands: grants.shellAllow,
    scope: grants.filesystemScope ?? '.',
    writable: !grants.readOnly,
    ...flagsOf(grants),
    stores: [],
    hostReads: grants.hostRead,
    networkAllow: grants.networkAllow,
    limits: grants.resources,
  };
}

/**
 * What a native tool may do: its own grants, the commands of its capsule, and what its entry lets it run. One without a grant for the workdir has the home that every
 * process has.
 */
export function toolProcesses(
  own: ArtifactGrants,
  { grants: capsule, project }: Pick<PreparedLaunch, 'grants' | 'project'>,
  stores: readonly StoreDirectory[],
): ProcessGrants {
  return {
    ...(own.seesProject ? project?.grant : {}),
    commands: [...new Set([...capsule.shellAllow, ...own.runs])],
    scope: own.preopen?.scope ?? homeBelow,
    writable: own.preopen?.writable ?? false,
    ...flagsOf(own),
    stores,
    hostReads: own.hostRead,
    networkAllow: own.networkAllow,
    limits: capsule.resources,
  };
}
