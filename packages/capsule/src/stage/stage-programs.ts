/** Makes the tools of a session that are programs or MCP servers. */

import { statSync, fchmodSync } from 'node:fs';
import { join, basename, dirname } from 'node:path';

import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { serverFile } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { writeTemporary } from '@svc/kit/files/replace-file.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { toolchainVariables } from '@svc/sandbox/toolchain-variables.ts';
import { launchedServer } from '@svc/session/tools/mcp/launched-server.ts';
import { createNativeTool } from '@svc/session/tools/native-tool.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import { localProgram, userProgram } from '../launch/local-program.ts';
import {
  addressesOf,
  packageCommand,
  projectVariables,
  registryOf,
  withoutRegistry,
} from '../launch/package-runner.ts';
import { hiddenIn, type OperatorCommand, operatorFiles, type OperatorPlaces } from '../launch/operator-files.ts';
import { hiddenBeyond } from './hidden-paths.ts';
import type { InstalledServer } from './installed-server.ts';
import { toolProcesses, type StageParts, grantsOf } from './stage-parts.ts';
import type { ProgramOwner } from './program-logs.ts';

/** Returns what the last words of a program name that is hidden from it; null when they name nothing hidden. */
type HiddenBesideIt = (said: string) => string | null;

/**
 * The files that the words of an artifact's command name, and what is hidden from its program. Only what the operator named himself is opened: files in
 * the directory that is the `source:` of the artifact. An archive brings its own along, and
 * its program learns nothing of what lies beside it.
 */
function namedFiles(
  artifact: InstalledArtifact,
  parts: StageParts,
): OperatorCommand & { readonly hiddenIn: HiddenBesideIt } {
  const words = artifact.manifest.command ?? [];
  const places = placesOf(artifact, parts);
  if (places.artifactDirectory === undefined) return { words, reads: [], hiddenIn: () => null };
  const named = operatorFiles(words, places);
  const hidesNothing = parts.launch.scope.containment.achieved === 'advisory';
  return { ...named, hiddenIn: (said) => (hidesNothing ? null : hiddenIn(said, named.reads, places)) };
}

/** Where its command may name files: an archive has no directory of its own. */
function placesOf(
  { origin, location }: InstalledArtifact,
  { launch, processes, directories }: StageParts,
): OperatorPlaces {
  const { directory: manifestDirectory } = launch.loaded;
  const places = { manifestDirectory, home: processes.home, workdir: directories.workdir };
  const isInPlace = origin === 'source' && statSync(location, { throwIfNoEntry: false })?.isDirectory() === true;
  return isInPlace ? { ...places, artifactDirectory: location } : places;
}

interface ToolProcessRequest {
  readonly own: ArtifactGrants;
  /** Files of the host that it may read besides. */
  readonly reads?: readonly string[];
  /** Variables that its entry sets. */
  readonly set?: Readonly<Record<string, string>> | undefined;
}

/**
 * How the program of a tool is started: contained by the grants of its artifact, with variables that say where its state stores are, and those
 * of its entry.
 */
async function toolProcess(
  { launch, processes, programLogs, directories }: StageParts,
  owner: ProgramOwner,
  { own, reads = [], set = {} }: ToolProcessRequest,
): Promise<{ readonly launcher: Launcher; readonly env: Readonly<Record<string, string>> }> {
  const stores = processes.openStores(own.stateStores);
  const processGrants = processes.heldTo(toolProcesses(own, launch, stores), own.name);
  const launcher = processes.launcher({ ...processGrants, reads });
  return {
    launcher: (await programLogs()).keeping(launcher, owner),
    env: {
      ...toolchainVariables(processGrants, directories.workdir, launch.scope.containment.achieved),
      ...processes.environment(own.envAllow, stores),
      ...set,
    },
  };
}

/** The tool of an artifact with `implementation: native`, whose program is written into the session's directory. */
export async function nativeTool(artifact: InstalledArtifact, parts: StageParts): Promise<Tool> {
  const { launch, directories } = parts;
  const { name, description, input_schema: inputSchema = { type: 'object' } } = artifact.manifest;
  const grants = grantsOf(launch, name);
  const program = await stageNative(artifact, join(directories.session, 'tools'));
  const deadlineMs = grants.deadlineSecs * 1000;
  const { hiddenIn } = namedFiles(artifact, parts);
  const contained = await toolProcess(parts, `tool-${name}`, { own: grants, set: artifact.entry.env });
  return createNativeTool({
    name,
    description,
    inputSchema,
    deadlineMs,
    program,
    ...parts.asks,
    ...contained,
    hiddenIn: hiddenBeyond(parts, contained.env, hiddenIn),
  });
}

/** The tools of an artifact with `implementation: mcp`, whose server is contained as a native tool is. */
export async function mcpTools(artifact: InstalledArtifact, parts: StageParts): Promise<readonly Tool[]> {
  const { launch, servers } = parts;
  const { name, url } = artifact.manifest;
  if (url !== undefined) return await (await import('./stage-remote.ts')).remoteTools(artifact, new URL(url), parts);
  const grants = grantsOf(launch, name);
  const { words, reads, hiddenIn } = namedFiles(artifact, parts);
  const named = await programOf(artifact, parts);
  const program = (await packageServer(artifact, parts)) ?? { ...named, args: words.slice(1) };
  const settings = await toolProcess(parts, `mcp-${name}`, {
    own: grants,
    reads: [...reads, ...program.reads],
    set: { ...named.env, ...projectVariables(words), ...artifact.entry.env },
  });
  const lost =
    launch.scope.containment.achieved === 'advisory'
      ? null
      : withoutRegistry(words[0] ?? '', settings.env, grants.networkAllow);
  return await (
    await servers()
  ).tools(artifact, {
    place: launchedServer({
      ...settings,
      env: { ...lost?.env, ...settings.env },
      command: program.path,
      args: program.args,
      asksRequests: parts.asks.asksRequests,
      hiddenIn: hiddenBeyond(parts, settings.env, (said) => hiddenIn(said) ?? lost?.explain(said) ?? null),
    }),
    deadlineMs: grants.deadlineSecs * 1000,
  });
}

/** Returns null unless the command installs a package and runs it, and its registry is granted. */
async function packageServer(artifact: InstalledArtifact, parts: StageParts): Promise<InstalledServer | null> {
  const { launch, processes, onWarning } = parts;
  const { name, command = [] } = artifact.manifest;
  const wanted = packageCommand(command);
  const own = grantsOf(launch, name);
  const env = { ...processes.environment(own.envAllow), ...artifact.entry.env };
  if (wanted === null) return null;
  // An entry that lets its server run npx lets npm install it, and only npm reaches the registry then.
  const lent = own.runs.includes(wanted.runner) ? registryOf(wanted.runner, artifact.entry.env) : [];
  const networkAllow = [...own.networkAllow, ...lent];
  if (withoutRegistry(wanted.runner, env, networkAllow) !== null) return null;
  const [{ installedServer }, { stillStarting }] = await Promise.all([
    import('./installed-server.ts'),
    import('./session-servers.ts'),
  ]);
  const installing = { ...toolProcesses({ ...own, seesProject: false }, launch, []), networkAllow, writable: true };
  return await installedServer({
    artifact: name,
    wanted,
    cacheDir: join(processes.home, '.svc', 'cache'),
    nowMs: systemClock.now(),
    env,
    launcherFor: (directory, commands) => processes.launcher({ ...installing, commands, writes: [directory] }),
    deadlineMs: own.deadlineSecs * 1000,
    registries: launch.network.proxyFor === null ? addressesOf(wanted.runner, env) : [],
    onWaiting: () => onWarning(stillStarting(name, 'is not installed')),
  });
}

interface ServerProgram {
  readonly path: string;
  readonly reads: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The staged file of the archive, under its own name: an interpreter may go by how it ends. Or a granted program of the project or the host. */
async function programOf(artifact: InstalledArtifact, parts: StageParts): Promise<ServerProgram> {
  const { launch, directories } = parts;
  const { name, command = [] } = artifact.manifest;
  const file = serverFile(command);
  if (file !== null) {
    const path = join(directories.session, 'tools', name, basename(file));
    return { path: await stageProgram(artifact, file, path), reads: [] };
  }
  const [program = ''] = command;
  if (launch.grants.shellAllow.includes(program) || grantsOf(launch, name).runs.includes(program)) {
    const places = placesOf(artifact, parts);
    const { PATH = '' } = parts.processes.environment([]);
    return localProgram(program, places) ?? userProgram(program, PATH, places) ?? { path: program, reads: [] };
  }
  throw new Diagnostic(
    'E-CAP-016',
    `the server of ${name} is the program ${program}, which neither artifacts[].runs of its entry nor capabilities.shell.allow lists`,
    {
      hint: `set runs: [${program}] on its entry, or use an artifact that brings its server along`,
    },
  );
}

/** Puts the program of a native artifact into `directory`, under the artifact's name and executable by all; returns its path. */
export async function stageNative(artifact: InstalledArtifact, directory: string): Promise<string> {
  const { name } = artifact.manifest;
  return await stageProgram(artifact, `bin/${name}`, join(directory, name));
}

/**
 * Puts one file of an artifact at `path`, executable by all; returns the path. What was there is replaced, not written into, so that a
 * program that runs stays as it is.
 */
async function stageProgram(artifact: InstalledArtifact, file: string, path: string): Promise<string> {
  const program = await artifact.read(file);
  await makeDirectory(dirname(path));
  const staged = await writeTemporary(dirname(path), [program], { isDurable: false });
  try {
    // A mode asked for at the beginning would be narrowed by the umask of svc's process.
    fchmodSync(staged.fd, 0o755);
    staged.keepAs(path);
    return path;
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  } finally {
    staged.close();
  }
}
