/** Makes the capsule of a task for which there is no manifest. */

import { join, resolve } from 'node:path';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { runtimeTools } from '@svc/artifacts/manifest/names.ts';
import { normalizeHostPath } from '@svc/artifacts/manifest/host-path.ts';
import { folderName, givenFolder } from '@svc/capsule/launch/given-folder.ts';
import type { GitOfFolder } from '@svc/capsule/launch/git-of-folder.ts';
import { openGivenFolder } from '@svc/capsule/launch/open-given-folder.ts';
import { hostFacts } from '@svc/capsule/launch/launch-host.ts';
import type { GivenProject } from '@svc/capsule/launch/running-capsule.ts';
import type { ScopeRequest } from '@svc/capsule/launch/scope-of-launch.ts';
import { isTelemetryVariable } from '@svc/capsule/launch/telemetry-variables.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { needsHome } from '@svc/kit/files/home-directory.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { shownBytes } from '@svc/kit/shown-values.ts';
import { version } from '@svc/kit/version.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { adhocRoot } from '@svc/record/sessions/adhoc-root.ts';
import { parseCeiling } from '@svc/sandbox/floor.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { hostContainment } from '@svc/sandbox/host-containment.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, joined, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { askOllama } from './ask-ollama.ts';
import { adhocName, capsuleText, projectTexts, type TaskGrants } from './capsule-text.ts';
import { chooseModel, type ChosenModel } from './choose-model.ts';
import { knownContext } from './providers.ts';
import { strangerAt } from './listener-owner.ts';
import type { NamedServer } from './named-servers.ts';
import type { RunOptions } from '../run-options.ts';
import { canAsk, RefusedThings } from './refused-things.ts';
import type { AdhocTask } from './task-companion.ts';

/** What only a task without a manifest takes. */
export interface TaskFlags {
  readonly model?: string;
  readonly keyEnv?: string;
  readonly insecureHttp?: boolean;
  /** The tokens that the model takes at once. */
  readonly context?: number;
  readonly write?: boolean;
  readonly writeGit?: boolean;
  readonly allow?: readonly string[];
  readonly net?: readonly string[];
  readonly env?: readonly string[];
  readonly hostRead?: readonly string[];
  /** False leaves `AGENTS.md` of the folder out. */
  readonly projectText?: boolean;
  /** Takes the skills of the folder and of the home directory. */
  readonly skills?: boolean;
  /** The commands of MCP servers, in words, and the addresses of those on the web. */
  readonly mcp?: readonly (readonly string[])[];
  /** Nothing is fetched. */
  readonly offline?: boolean;
}

/** Programs for every task that may read: they write only their output. */
export const usualCommands: readonly string[] = [
  'sh',
  'ls',
  'cat',
  'head',
  'tail',
  'grep',
  'find',
  'sed',
  'awk',
  'sort',
  'wc',
  'diff',
];

/** A task that can be started. */
interface OpenedTask {
  readonly request: Partial<ScopeRequest>;
  readonly firstRows: () => Shown;
  readonly adhoc: AdhocTask;
}

/**
 * Chooses the model, and decides what the task is granted on this host. Throws the Diagnostic of a folder that is not given to an agent
 * (`E-CAP-022` to `E-CAP-025`), or of a model that is not there (`E-MAN-004`). A report writes nothing.
 */
export async function openTask(
  flags: TaskFlags & Pick<RunOptions, 'continues'> & { readonly isChat?: boolean },
  context: CommandContext,
  isReport: boolean,
): Promise<OpenedTask> {
  const { cwd, home, env } = context;
  const path = givenFolder(cwd, home);
  if (!isReport) needsHome(home);
  const packageRoot = findPackageRoot(import.meta.filename);
  const ceiling = parseCeiling(env['SVC_CONTAINMENT_CEILING']);
  // One after the other: a host is tried in this very thread, and an answer that comes meanwhile would come too late.
  const facts = hostFacts({ home, packageRoot, ceiling });
  const model = await chooseModel({
    flag: flags.model,
    keyEnv: flags.keyEnv,
    insecureHttp: flags.insecureHttp === true,
    env,
    askOllama,
    strangerAt: (address) => strangerAt(address, facts.uid),
  });
  const { achieved } = await hostContainment(facts);
  const writable = isWritable(flags);
  const { project, git } = await openGivenFolder(
    {
      path,
      writable,
      keepsGit: flags.writeGit !== true,
      masks: [],
      own: [],
      achieved,
      hasPrograms: true,
      runsGit: flags.allow?.includes('git') === true,
      isReport,
    },
    { packageRoot, cwd, home, env },
  );
  const root = adhocRoot(home);
  const granted = grantsOf(flags, achieved, { searchPath: env['PATH'] ?? '', git, cwd });
  const servers = await serversOf(flags, granted, { root, context, isReport });
  const { skillsOfTask } = await import('./skills-of-task.ts');
  const found = await skillsOfTask(flags.skills === true, { folder: path, home, packageRoot }, [
    ...granted.commands,
    ...servers.map(({ name }) => name),
  ]);
  const hasPerson = flags.isChat === true || context.stderr.isTerminal;
  const asks = hasPerson && canAsk(granted) ? ({ asks: achieved === 'sealed' ? 'hosts' : 'commands' } as const) : {};
  const grants = { ...granted, ...asks, servers, skills: found.skills };
  const folder = folderName(path);
  const contextTokens = flags.context ?? knownContext(model);
  const text = capsuleText(adhocName, keptComment(path, writable), {
    model,
    grants,
    isChat: flags.isChat === true,
    contextTokens,
  });
  const whyReadOnly = (): Diagnostic | null => project.whyReadOnly();
  const refused = new RefusedThings({ grants, searchPath: env['PATH'] ?? '', folder, path, whyReadOnly });
  const { widening } = refused;
  const projectText = flags.projectText === false ? null : await projectTextIn(project);
  return {
    // A folder that is only looked at must not choose what is read of it: no `.env`.
    request: {
      adhoc: {
        text,
        root,
        project,
        ...(grants.asks === undefined ? {} : { widening }),
        warnings: [...absentVariables(grants, env), ...(git?.warnings ?? []), ...found.warnings],
      },
      ...(git === null ? {} : { env: { ...env, ...git.identity } }),
      manifestFile: join(root, 'svc.yaml'),
      readEnvFile: false,
    },
    firstRows: () =>
      firstRows({
        model: flags.continues === undefined ? model : { ...model, from: addressOf(model) },
        grants,
        folder,
        achieved,
        projectText,
        untaken: found.untaken,
      }),
    adhoc: { refused, text, root, contextTokens },
  };
}

/** What names the model of a session that goes on, in its first row: nobody has typed a flag for it. */
function addressOf({ endpoint, keyVariable }: ChosenModel): string {
  return `${new URL(endpoint).host}${keyVariable === null ? '' : `, ${keyVariable}`}`;
}

/** The file that the session will begin with, as it is now; a warning about it comes with the session. */
async function projectTextIn({ scope }: GivenProject): Promise<ScopeObject['project_text'] | null> {
  const { path: folder = '', masked = [] } = scope.project_folder ?? {};
  const { readProjectText } = await import('@svc/capsule/launch/project-text.ts');
  return (
    readProjectText({ names: projectTexts, folder, masked, redact: (text) => text }).found?.scope.project_text ?? null
  );
}

function isWritable({ write, writeGit }: TaskFlags): boolean {
  return write === true || writeGit === true;
}

async function serversOf(
  { mcp = [], offline = false }: TaskFlags,
  { commands, floor }: TaskGrants,
  { root, context, isReport }: { readonly root: string; readonly context: CommandContext; readonly isReport: boolean },
): Promise<readonly NamedServer[]> {
  if (mcp.length === 0) return [];
  const { env } = context;
  const { isOnWeb, nameServers } = await import('./named-servers.ts');
  const own = [...commands, ...runtimeTools];
  const place = isReport ? null : root;
  const programs = mcp.filter((words) => !isOnWeb(words));
  if (floor === null && programs.length > 0)
    throw new Diagnostic('E-CAP-027', 'no MCP server is started: this host keeps none to what it was granted', {
      hint: 'svc doctor says why; a capsule of a manifest may start one all the same',
    });
  const launched = nameServers(programs, { root: place, taken: own, env });
  if (programs.length === mcp.length) return launched;
  const { webServers } = await import('./web-servers.ts');
  const taken = [...own, ...launched.map(({ name }) => name)];
  return [...launched, ...(await webServers(mcp.filter(isOnWeb), { root: place, taken, isOffline: offline }, context))];
}

interface GrantSurroundings {
  readonly searchPath: string;
  readonly git: GitOfFolder | null;
  readonly cwd: string;
}

function grantsOf(
  flags: TaskFlags,
  achieved: ContainmentClass,
  { searchPath, git, cwd }: GrantSurroundings,
): TaskGrants {
  const isHeld = achieved !== 'advisory';
  const usual = usualCommands.filter((name) => findProgram(name, searchPath).kind === 'found');
  const writes = isWritable(flags);
  return {
    commands: isHeld ? [...new Set([...usual, ...(flags.allow ?? [])])] : [],
    hosts: flags.net ?? [],
    variables: flags.env ?? [],
    reads: (flags.hostRead ?? []).map((path) => hostPath(path, cwd)),
    folder: writes ? 'write' : 'read',
    keepsGit: writes && flags.writeGit !== true,
    floor: isHeld ? 'scoped' : null,
    editor: writes ? 'write' : 'read',
    hasProjectText: flags.projectText !== false,
    ...(git === null ? {} : { identity: Object.keys(git.identity), ...shownGit(git) }),
  };
}

/** Absolute, as a manifest names it; `E-CAP-026` where it would be the whole machine. */
function hostPath(path: string, cwd: string): string {
  const absolute = path === '' ? undefined : normalizeHostPath(resolve(cwd, path));
  if (absolute !== undefined) return absolute;
  const message = `--host-read names ${quoted(path)}, which no task is given`;
  throw new Diagnostic('E-CAP-026', message, { hint: 'name the folder of the one program that is needed' });
}

function shownGit({ found }: GitOfFolder): Pick<TaskGrants, 'git'> {
  if (found.kind === 'closed') return { git: 'closed' };
  return found.kind === 'elsewhere' && found.git.around !== null ? { git: 'around' } : {};
}

/** `W-RUN-172` for every variable that `--env` names and that commands do not get. A manifest lists what they may have, so nothing is said of that. */
function absentVariables({ variables }: TaskGrants, env: CommandContext['env']): readonly Diagnostic[] {
  return variables.flatMap((name) => {
    const isOwn = isTelemetryVariable(name);
    if (!isOwn && Object.hasOwn(env, name) && env[name] !== undefined) return [];
    const why = isOwn ? 'which svc gives to nobody' : 'which is not set here';
    const hint = isOwn ? 'leave it out' : 'set and export it before svc runs, or leave it out';
    return [new Diagnostic('W-RUN-172', `--env names ${name}, ${why}`, { hint })];
  });
}

/** Every text of the folder's own is quoted: a name may hold the end of a line. */
function keptComment(path: string, writable: boolean): readonly string[] {
  return [
    `What a task in ${JSON.stringify(path)} came to. The folder was project/, ${writable ? 'which it could change' : 'read only'}.`,
    'svc new capsule <name> --from <session> makes a capsule of it.',
  ];
}

interface FirstRow {
  readonly model: ChosenModel;
  readonly grants: TaskGrants;
  readonly folder: string;
  readonly achieved: ContainmentClass;
  readonly projectText: ScopeObject['project_text'] | null;
  /** How many skills are there and are not taken. */
  readonly untaken: number;
}

/** What the task works with and may do, in one row; more rows where somebody has to know more. */
function firstRows({ model, grants, folder, achieved, projectText = null, untaken }: FirstRow): Shown {
  const { hosts, commands, variables, reads, servers = [], skills = [] } = grants;
  const dot = '\u00B7';
  const access = grants.folder === 'write' ? 'can be changed' : 'read only';
  const network = hosts.length === 0 ? 'no network' : hosts.join(', ');
  const named = variables.length === 0 ? '' : ` ${dot} ${variables.join(', ')}`;
  const read = reads.length === 0 ? named : `${named} ${dot} reads ${reads.join(', ')}`;
  const given = servers.length === 0 ? read : `${read} ${dot} mcp ${servers.map(({ name }) => name).join(', ')}`;
  const held = commands.length === 0 ? `${achieved}, no commands` : achieved;
  const rules = projectText === null ? '' : ` ${dot} ${projectText.path} ${shownBytes(projectText.bytes)}`;
  const count = skills.length + untaken;
  const taught =
    count === 0 ? '' : ` ${dot} ${count} skill${count === 1 ? '' : 's'}${untaken === 0 ? '' : ', taken with --skills'}`;
  return joined([
    say`svc ${version} ${dot} ${model.model} (${model.from}) ${dot} ${folder} ${access}${rules}${taught} ${dot} ${network}${given} ${dot} ${held}\n`,
    ...(model.isInsecure === true
      ? [
          exactLine`--insecure-http: anybody on the way to ${model.endpoint} can read the task, the answers${model.keyVariable === null ? '' : ' and the key'}\n`,
        ]
      : []),
    ...(grants.folder === 'write'
      ? [say`--write: files of ${folder} can be changed and removed, and there is no undo yet\n`]
      : []),
    ...(commands.length === 0
      ? [say`no command can be run: this host keeps none to what it was granted (svc doctor says why)\n`]
      : []),
  ]);
}
