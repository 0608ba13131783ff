/** Makes the tools of a session that are programs or MCP servers. */

import { statSync, fchmodSync } from 'node:fs';
import { join, basename, dirname } from 'node:path';

import type { ArtifactGrants } from '@svc/artifacts/grants/artifact-grants.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { serverFile } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { writeTemporary } from '@svc/kit/files/replace-file.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import { createNativeTool } from '@svc/session/tools/native-tool.ts';
import type { Tool } from '@svc/session/tools/tool.ts';
import { hiddenIn, operatorFiles, type OperatorCommand } from '../launch/operator-files.ts';
import { toolProcesses, type StageParts, grantsOf } from './stage-parts.ts';
import type { ProgramOwner } from './program-logs.ts';

/** Returns what the last words of a program name that is hidden from it; null when they name nothing hidden. */
type HiddenIn = (said: string) => string | null;

/**
 * The files that the words of an artifact's command name, and what is hidden from its program. Only what the operator named himself is opened: files in
 * the directory that is the `source:` of the artifact. An archive brings its own along, and
 * its program learns nothing of what lies beside it.
 */
function namedFiles(
  { origin, location, manifest }: InstalledArtifact,
  { launch, processes, directories }: StageParts,
): OperatorCommand & { readonly hiddenIn: HiddenIn } {
  const { directory: manifestDirectory } = launch.loaded;
  const places = { manifestDirectory, home: processes.home, workdir: directories.workdir };
  const words = manifest.command ?? [];
  const isInPlace = origin === 'source' && statSync(location, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isInPlace) return { words, reads: [], hiddenIn: () => null };
  const own = { ...places, artifactDirectory: location };
  const named = operatorFiles(words, own);
  const hidesNothing = launch.scope.containment.achieved === 'advisory';
  return { ...named, hiddenIn: (said) => (hidesNothing ? null : hiddenIn(said, named.reads, own)) };
}

/**
 * How the program of a tool is started: contained by the grants of its artifact, with variables that say where its state stores are. It may
 * also read `reads`, files of the host.
 */
async function toolProcess(
  { launch, processes, programLogs }: StageParts,
  owner: ProgramOwner,
  { own, reads = [] }: { readonly own: ArtifactGrants; readonly reads?: readonly string[] },
): Promise<{ readonly launcher: Launcher; readonly env: Readonly<Record<string, string>> }> {
  const stores = processes.openStores(own.stateStores);
  const launcher = processes.launcher({ ...toolProcesses(own, launch.grants, stores), reads });
  return {
    launcher: (await programLogs()).keeping(launcher, owner),
    env: processes.environment(own.envAllow, stores),
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
  const process = await toolProcess(parts, `tool-${name}`, { own: grants });
  return createNativeTool({ name, description, inputSchema, deadlineMs, program, hiddenIn, ...process });
}

/** The tools of an artifact with `implementation: mcp`, whose server is contained as a native tool is. */
export async function mcpTools(artifact: InstalledArtifact, parts: StageParts): Promise<readonly Tool[]> {
  const { launch, servers } = parts;
  const { name } = artifact.manifest;
  const grants = grantsOf(launch, name);
  const { words, reads, hiddenIn } = namedFiles(artifact, parts);
  return await (
    await servers()
  ).tools(artifact, {
    ...(await toolProcess(parts, `mcp-${name}`, { own: grants, reads })),
    command: await programOf(artifact, parts),
    args: words.slice(1),
    hiddenIn,
    deadlineMs: grants.deadlineSecs * 1000,
  });
}

/** The staged file of the archive, under its own name: an interpreter may go by how it ends. Or a granted program of the host. */
async function programOf(artifact: InstalledArtifact, { launch, directories }: StageParts): Promise<string> {
  const { name, command = [] } = artifact.manifest;
  const file = serverFile(command);
  if (file !== null)
    return await stageProgram(artifact, file, join(directories.session, 'tools', name, basename(file)));
  const [program = ''] = command;
  if (launch.grants.shellAllow.includes(program)) return program;
  throw new Diagnostic(
    'E-CAP-016',
    `the server of ${name} is the program ${program}, which capabilities.shell.allow does not list`,
    {
      hint: `list ${program} there, or use an artifact that brings its server along`,
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
