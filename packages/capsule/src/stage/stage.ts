/** Makes the tools, the hooks and the driver of a session. */

import { decidesPrograms, toolsOfPaths } from '@svc/artifacts/manifest/decided-inside.ts';
import { hookDeclaration } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { ComponentHost } from '@svc/components/component-host.ts';
import type { ImportMode } from '@svc/components/import-log.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import type { LogBudget } from '@svc/kit/log-budget.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { SessionDirectories } from '@svc/record/sessions/session-directories.ts';
import type { Delegations } from '@svc/session/delegation/delegations.ts';
import type { Hook } from '@svc/session/hooks/hook.ts';
import type { Driver } from '@svc/session/model/driver.ts';
import { BackgroundCommands } from '@svc/session/tools/background/background-commands.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import type { Recorder } from '@svc/session/recorder/recorder.ts';
import { recordedCapsuleSteps, recordedDriver, recordedTool } from '@svc/session/recorder/recorded-effects.ts';
import type { CutBefore } from '@svc/session/tools/captured-output.ts';
import { createSkillTool } from '@svc/session/tools/skill-tool.ts';
import { createWasmTool } from '@svc/session/tools/wasm-tool.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { toolchainVariables } from '@svc/sandbox/toolchain-variables.ts';
import { commandSubject } from '@svc/artifacts/grants/host-bindings.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import { closeAll, closeTogether } from './close-all.ts';
import type { GrantedBeside } from './later-commands.ts';
import type { LateGrantUsage } from './late-grant-usage.ts';
import type { ProgramLogs, ProgramLogsSettings } from './program-logs.ts';
import { SessionComponents } from './session-components.ts';
import type { BoundPrograms } from './bound-programs.ts';
import type { SessionKeys } from './session-keys.ts';
import { SessionProcesses } from './session-processes.ts';
import { backgroundSettings, grantsOf, hasPrograms, type StageParts, capsuleProcesses } from './stage-parts.ts';
import type { SessionSkills } from './session-skills.ts';
import type { SessionServers, SessionServersDeps } from './session-servers.ts';
import { stageDriver } from './stage-driver.ts';

interface StageRequest {
  readonly launch: PreparedLaunch;
  readonly sessionId: SessionId;
  readonly directories: SessionDirectories;
  /** The bytes that all logs of the session may still take. */
  readonly logs: LogBudget;
  readonly host: ComponentHost;
  readonly home: string;
  /** `~/.svc/cache`. */
  readonly cacheDir: string;
  /** It is null for a session that may not delegate. */
  readonly delegations: Delegations | null;
  /** As in `RunRequest`. */
  readonly driver?: StageParts['driver'];
  /** Aborted when the session was asked to stop. */
  readonly stop: AbortSignal;
  readonly recorder: Recorder;
  readonly onWarning: (warning: Diagnostic) => void;
  /** Whether what components are answered is recorded. */
  readonly imports: ImportMode;
  /** As in `StageParts`; absent where it is null. */
  readonly later?: StageParts['later'];
  /** Sees what tools and driver do with their grants. */
  readonly grantUsage: LateGrantUsage;
}

/** What a session runs with. */
export interface StagedSession {
  readonly tools: readonly Tool[];
  readonly driver: Driver;
  readonly background: BackgroundCommands;
  readonly hooks: readonly Hook[];
  /** Is null without a skill whose folder holds `SKILL.md`. */
  readonly skills: SessionSkills | null;
  readonly close: () => Promise<void>;
}

/**
 * Makes what the agent loop calls, from the artifacts, the shell grants and the driver of a capsule. Compiles nothing, and starts only MCP
 * servers that have never listed their tools. What fails leaves nothing open.
 */
export async function stageSession(request: StageRequest): Promise<StagedSession> {
  const { launch, sessionId, directories, logs, host, home, cacheDir, delegations, stop, recorder, onWarning } =
    request;
  const { imports, grantUsage, driver: own, later = null } = request;
  const { containment, hold, env, project, network } = launch;
  const skills = await openSkills(launch, directories);
  const keys = await sessionKeys(launch, onWarning);
  const bound = keys === null ? null : await boundPrograms(launch, directories, keys);
  const { approvals } = launch.loaded.manifest;
  const gates = decidesPrograms(approvals) ? await import('./program-gate.ts') : null;
  const gate = gates?.openGate(launch, grantUsage) ?? null;
  const components = new SessionComponents({
    host,
    skills,
    workdir: directories.workdir,
    home,
    env,
    imports,
    project,
    proxyFor: network.proxyFor,
    keys,
    decided: toolsOfPaths(approvals),
    grantUsage,
  });
  const processes = new SessionProcesses({
    sessionId,
    skills,
    containment,
    hold,
    directories,
    logs,
    home,
    env,
    project,
    network,
    keys,
    bound,
    gate,
    grantUsage,
  });
  let opened: Promise<SessionServers> | null = null;
  const servers = async (): Promise<SessionServers> =>
    await (opened ??= openServers({
      cacheDir,
      sessionDirectory: directories.session,
      logs,
      cutBefore: cutBeforeOf(launch),
      stop,
      onWarning,
    }));
  let kept: Promise<ProgramLogs> | null = null;
  const programLogs = async (): Promise<ProgramLogs> =>
    await (kept ??= openProgramLogs({
      sessionDirectory: directories.session,
      redactor: launch.redactor,
      budget: logs,
    }));
  const background = new BackgroundCommands(backgroundSettings(launch.loaded.manifest.lifecycle));
  const parts = {
    launch,
    directories,
    logs,
    components,
    processes,
    servers,
    traffic: (artifact: string) => grantUsage.ofComponent(artifact),
    programLogs,
    background,
    skills,
    delegations,
    driver: own,
    later,
    asks: { asksPrograms: gate !== null, asksRequests: keys?.asksRequests === true },
    recorder,
    onWarning,
  };
  const close = async (driver?: Driver): Promise<void> => {
    // Their processes end at the same time.
    const users = [async () => await driver?.close(), async () => await (await opened)?.close()];
    await closeAll([
      async () => await closeTogether([...users, async () => await components.close()]),
      async () => await processes.close(),
      async () => (await kept)?.close(),
      async () => skills?.close(),
    ]);
  };
  try {
    if (bound !== null) await tryWay(bound, parts);
    if (gate !== null) await gates?.tryGate(parts);
    const tools = await stageTools(parts);
    const driver = recordedDriver(await stageDriver(parts), recorder);
    return {
      tools: tools.map((tool) => recordedTool(tool, recorder)),
      driver,
      background,
      hooks: stageHooks(parts),
      skills,
      close: async () => await close(driver),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns null for a session without a skill whose folder holds `SKILL.md`, which loads nothing for them. */
async function openSkills(launch: PreparedLaunch, directories: SessionDirectories): Promise<SessionSkills | null> {
  if (!launch.artifacts.some(({ skill }) => skill !== undefined)) return null;
  const [{ folderSkills }, { SessionSkills }] = await Promise.all([
    import('../launch/skill-folders.ts'),
    import('./session-skills.ts'),
  ]);
  const given = launch.project?.grant.project;
  return new SessionSkills({
    skills: folderSkills(launch.artifacts),
    workdir: directories.workdir,
    scope: launch.grants.filesystemScope ?? '.',
    sessionDirectory: directories.session,
    achieved: launch.containment.achieved,
    startsElsewhere: given !== undefined && !given.isWorkdir,
  });
}

/** Is null, and nothing is loaded, where no host is granted with more than its name. */
async function sessionKeys(launch: PreparedLaunch, onWarning: StageRequest['onWarning']): Promise<SessionKeys | null> {
  const { grants, loaded } = launch;
  if (grants.bindings.length === 0) return null;
  const { SessionKeys } = await import('./session-keys.ts');
  const isRenewed = grants.credentials.some(({ scheme }) => scheme === 'oauth2');
  const renewed = isRenewed ? await import('./renewed-keys.ts') : null;
  const tokens = renewed?.renewedKeys(launch, onWarning) ?? new Map();
  const { manifest, credentials: secrets } = loaded;
  return new SessionKeys({ grants, secrets, clock: systemClock, tokens, approvals: manifest.approvals });
}

/** Is null where no program could reach such a host. */
async function boundPrograms(
  launch: PreparedLaunch,
  { session: directory }: SessionDirectories,
  keys: SessionKeys,
): Promise<BoundPrograms | null> {
  const { grants, containment, network } = launch;
  if (!hasPrograms(launch) || containment.achieved !== 'sealed') return null;
  const { BoundPrograms } = await import('./bound-programs.ts');
  return new BoundPrograms({ grants, keys, network, directory, clock: systemClock });
}

/** As the commands of the capsule would be started. */
async function tryWay(
  bound: BoundPrograms,
  { launch, processes }: Pick<StageParts, 'launch' | 'processes'>,
): Promise<void> {
  const { project: _, ...grants } = capsuleProcesses(launch);
  const launcherFor: Parameters<BoundPrograms['tryWay']>[0] = (tried, networkAllow) =>
    processes.launcher({ ...grants, commands: [], networkAllow, bound: tried });
  await bound.tryWay(launcherFor, processes.environment([]));
}

async function openProgramLogs(settings: ProgramLogsSettings): Promise<ProgramLogs> {
  const { ProgramLogs } = await import('./program-logs.ts');
  return new ProgramLogs(settings);
}

function cutBeforeOf({ redactor }: PreparedLaunch): CutBefore {
  return (text) => redactor.cutBefore(text);
}

async function openServers(deps: SessionServersDeps): Promise<SessionServers> {
  const { SessionServers } = await import('./session-servers.ts');
  return new SessionServers(deps);
}

/** The hooks of a session, in the order of the manifest (docs/adr/sessions.md "What hooks may do"). Compiles and starts nothing. */
function stageHooks({ launch, components }: StageParts): readonly Hook[] {
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

/** What the model of a session can call: artifacts of role `tool` and `skill`, the commands of the shell grant, and what `svc` itself offers. */
async function stageTools(parts: StageParts): Promise<readonly Tool[]> {
  const tools: Tool[] = [...(parts.skills?.tools() ?? [])];
  for (const artifact of parts.launch.artifacts) tools.push(...(await toolsOf(artifact, parts)));
  return [...tools, ...(await shellTools(parts)), ...(await planTools(parts)), ...(await delegationTools(parts))];
}

async function toolsOf(artifact: InstalledArtifact, parts: StageParts): Promise<readonly Tool[]> {
  const { runtime } = artifact.entry;
  if (runtime === 'skill') {
    if (artifact.skill !== undefined) return [];
    refuseChoice(artifact);
    const { name, description } = artifact.manifest;
    return [createSkillTool({ name, description, text: artifact.skillText ?? '' })];
  }
  if (runtime !== 'tool') return [];
  refuseChoice(artifact);
  switch (artifact.manifest.implementation) {
    case 'wasm':
      refuseVariables(artifact);
      return [await wasmTool(artifact, parts)];
    case 'native':
      return [await (await import('./stage-programs.ts')).nativeTool(artifact, parts)];
    case 'mcp':
      return await (await import('./stage-programs.ts')).mcpTools(artifact, parts);
  }
}

/** `E-MAN-003`: an artifact that is one tool leaves nothing to choose. */
function refuseChoice({ entry: { name, tools }, manifest }: InstalledArtifact): void {
  if (tools === undefined || (manifest.runtime === 'tool' && manifest.implementation === 'mcp')) return;
  const message = `artifacts[].tools of ${name} is not allowed: it is neither an MCP server nor a folder with SKILL.md`;
  throw new Diagnostic('E-MAN-003', message, { hint: 'remove the list, or the entry where its tool is not wanted' });
}

/** `E-MAN-003`: a component sees the variables of `env.allow` alone. */
function refuseVariables({ entry: { name, env } }: InstalledArtifact): void {
  if (env === undefined) return;
  const message = `artifacts[].env of ${name} is not allowed: it is a component, and variables are set for programs`;
  throw new Diagnostic('E-MAN-003', message, { hint: 'remove the block, and list what it needs in env.allow' });
}

async function wasmTool(
  artifact: InstalledArtifact,
  { launch, components, skills, asks: { asksRequests } }: StageParts,
): Promise<Tool> {
  const { name, description, input_schema: inputSchema = anyObject } = artifact.manifest;
  const grants = grantsOf(launch, name);
  const component = components.open(artifact, grants);
  const deadlineMs = grants.deadlineSecs * 1000;
  const plain = createWasmTool({ name, description, inputSchema, component, deadlineMs, asksRequests });
  const tool = await heldToPaths(skills?.filledFirst(plain) ?? plain, artifact, launch);
  if (name !== editorName) return tool;
  const { withFileChanges } = await import('@svc/session/tools/file-changes.ts');
  return withFileChanges(tool, components.preopensOf(component));
}

/** A tool whose changes of files a person is asked about, or that some are refused to. */
async function heldToPaths(tool: Tool, { origin }: InstalledArtifact, { loaded }: StageParts['launch']): Promise<Tool> {
  const { approvals } = loaded.manifest;
  if (approvals === undefined || !toolsOfPaths(approvals).has(tool.name)) return tool;
  const { CallRules } = await import('@svc/session/approvals/call-rules.ts');
  const { withAskedChanges } = await import('@svc/session/approvals/asked-changes.ts');
  const replaces = origin === 'bundled' && tool.name === editorName;
  return withAskedChanges(tool, new CallRules(approvals), { replaces });
}

async function shellTools(parts: StageParts): Promise<readonly Tool[]> {
  const { launch, directories, logs, processes, background, later, asks } = parts;
  const { shellAllow, envAllow } = launch.grants;
  if (shellAllow.length === 0) return [];
  const { createShellTools } = await import('@svc/session/tools/shell-tool.ts');
  const { achieved } = launch.scope.containment;
  // Elsewhere a port is all that could be opened, and to every host.
  const asksHosts = later !== null && achieved === 'sealed';
  const grants = { ...processes.heldTo(capsuleProcesses(launch), commandSubject), asksHosts };
  const variables = processes.environment(envAllow);
  const env = { ...toolchainVariables(grants, directories.workdir, achieved), ...variables };
  const launcher = processes.launcher(grants);
  const widened = ({ names, writes }: GrantedBeside): Launcher => {
    const project = writes ? (launch.project?.written() ?? null) : launch.project;
    const more = { ...grants, ...project?.grant, commands: [...shellAllow, ...names] };
    const set = { ...toolchainVariables(more, directories.workdir, achieved), ...variables };
    const held = processes.launcher(more, project);
    return { launch: async (asked) => await held.launch({ ...asked, env: set }) };
  };
  return createShellTools(shellAllow, {
    launcher: later === null ? launcher : later.launcher(launcher, widened),
    asksHosts,
    ...asks,
    env,
    explainHidden: async (said, hides) => {
      const { hiddenPaths, hiddenSurroundings } = await import('./hidden-paths.ts');
      return hiddenPaths({ said, hides }, hiddenSurroundings(parts, env));
    },
    sessionDirectory: directories.session,
    logs,
    cutBefore: cutBeforeOf(launch),
    background,
  });
}

async function planTools({ launch, directories, delegations, recorder }: StageParts): Promise<readonly Tool[]> {
  if (!launch.grants.planSubmit) return [];
  const [{ createSubmitPlanTool }, { capsuleStepsWithoutReferee }] = await Promise.all([
    import('@svc/session/tools/plan/submit-plan-tool.ts'),
    import('@svc/session/tools/plan/capsule-step.ts'),
  ]);
  const tool = createSubmitPlanTool({
    sessionDirectory: directories.session,
    redact: recordRedaction(launch.redactor),
    runCapsuleStep: recordedCapsuleSteps(
      delegations?.runStep ?? capsuleStepsWithoutReferee(launch.env['SVC_REFEREE_URL']),
      recorder,
    ),
    clock: systemClock,
  });
  return [tool];
}

/** Only where there is a capsule to delegate to (D2 "`delegate-task` tool"). */
async function delegationTools({ launch, delegations }: StageParts): Promise<readonly Tool[]> {
  const [first, ...more] = launch.grants.spawnAllow;
  if (delegations === null || first === undefined) return [];
  const { createDelegateTaskTool } = await import('@svc/session/delegation/delegate-task-tool.ts');
  return [createDelegateTaskTool([first, ...more], delegations)];
}

const anyObject = { type: 'object' } as const;

/** The bundled tool whose arguments name the one file that a call changes. */
const editorName = 'svc-tool-editor';
