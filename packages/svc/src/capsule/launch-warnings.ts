/** Warns of what a manifest declares and this machine does not have or enforce. */

import { delimiter, isAbsolute, join } from 'node:path';

import { containedEnvironment } from '@svc/sandbox/contained-environment.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { LaunchScope } from './scope-of-launch.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/load.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { HeldLimit } from '@svc/protocol/held-limit.ts';
import { renderKeyPath, type KeyPath } from '@svc/artifacts/manifest/key-path.ts';
import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';

type CommandQuestion = Pick<LaunchScope, 'loaded' | 'env' | 'source'>;

/**
 * `W-RUN-003` for every listed command that is not installed: the model gets a tool for it that cannot work. Of a task without a manifest, whose
 * text nobody has written, it names the flag.
 */
export function absentCommands(question: CommandQuestion & { readonly isAdhoc: boolean }): readonly Diagnostic[] {
  const names = question.loaded.manifest.capabilities.shell?.allow ?? [];
  const path = names.length === 0 ? '' : searchPath(question);
  return names.flatMap((name, index) => {
    const found = findProgram(name, path);
    if (found.kind === 'found') return [];
    const reason = `${name}, which cannot be run here: ${found.reason}`;
    if (question.isAdhoc)
      return [new Diagnostic('W-RUN-003', `--allow names ${reason}`, { hint: 'install it, or leave it out' })];
    const location = question.loaded.locate(['capabilities', 'shell', 'allow', index], 'value');
    const message = `capabilities.shell.allow lists ${reason}`;
    return [new Diagnostic('W-RUN-003', message, { location, hint: 'install it, or take it off the list' })];
  });
}

/**
 * `W-RUN-003` for what listed commands need and the host does not have. Reads all files that they need, which takes too long for a
 * launch; there the call that fails tells of it.
 */
export async function commandProblems(question: CommandQuestion): Promise<readonly Diagnostic[]> {
  const names = question.loaded.manifest.capabilities.shell?.allow ?? [];
  if (names.length === 0) return [];
  const path = searchPath(question);
  const programs = names.map((name) => findProgram(name, path));
  const [{ neededFiles }, { systemFiles }] = await Promise.all([
    import('@svc/sandbox/closure/needed-files.ts'),
    import('@svc/sandbox/closure/file-collection.ts'),
  ]);
  const { problems } = neededFiles(
    programs.flatMap((program) => (program.kind === 'found' ? [program.path] : [])),
    systemFiles,
    path.split(delimiter).filter(isAbsolute),
  );
  const location = question.loaded.locate(['capabilities', 'shell', 'allow'], 'key');
  return problems.map((problem) => new Diagnostic('W-RUN-003', `capabilities.shell.allow: ${problem}`, { location }));
}

/** The `PATH` that commands will have. */
function searchPath({ loaded, env, source }: CommandQuestion): string {
  const { PATH = '' } = containedEnvironment({
    accessibleWorkdir: join(source.root, 'workdir'),
    achieved: 'advisory',
    held: env,
    allow: loaded.manifest.capabilities.env?.allow ?? [],
  });
  return PATH;
}

/**
 * `W-RUN-059` for a launch whose programs get less than `scoped` from this host: shell commands, native tools, servers of tools, a driver
 * that is a process. Null where there are none, or where they are contained. In one line, at each run (ADR 0083).
 */
export function weakPrograms(
  { manifest }: Pick<LoadedManifest, 'manifest'>,
  artifacts: readonly Pick<InstalledArtifact, 'manifest'>[],
  { achieved, mechanism, reason }: Pick<Containment, 'achieved' | 'mechanism' | 'reason'>,
): Diagnostic | null {
  if (achieved !== 'advisory') return null;
  const commands = manifest.capabilities.shell?.allow.length ?? 0;
  const programs = artifacts.filter(({ manifest: { implementation } }) => implementation !== 'wasm').length;
  const kinds = [
    ...(commands === 0 ? [] : ['commands']),
    ...(programs === 0 ? [] : ['native tools']),
    ...(manifest.inference.transport === 'process' ? ['the program of the driver'] : []),
  ];
  if (kinds.length === 0) return null;
  const why = reason === null ? '' : `: ${reason}`;
  const message = `class advisory (${mechanism}) for ${kinds.join(' and ')}, which keeps no file of this user from them${why}`;
  return new Diagnostic('W-RUN-059', message);
}

/**
 * `W-SEC-032` for what a manifest declares and this host does not hold commands and programs to. Components are held to all of it by
 * the runtime. Nothing is said where nothing would be run.
 */
export function unenforcedGrants(
  { manifest, locate }: LoadedManifest,
  { achieved, mechanism }: Pick<Containment, 'achieved' | 'mechanism'>,
): readonly Diagnostic[] {
  if (!runsPrograms(manifest)) return [];
  const { filesystem, network, resources } = manifest.capabilities;
  const narrowed = filesystem?.scope !== undefined || filesystem?.read_only === true;
  const listed = (network?.allow.length ?? 0) > 0;
  const rules: readonly [unenforced: boolean, path: KeyPath, what: string][] = [
    [narrowed && achieved === 'advisory', ['capabilities', 'filesystem'], 'any file of the user can be reached'],
    [listed && achieved !== 'sealed', ['capabilities', 'network'], 'other hosts can be reached too'],
    [network !== undefined && !listed && mechanism === 'none', ['capabilities', 'network'], 'any host can be reached'],
    [resources !== undefined && mechanism === 'none', ['capabilities', 'resources'], 'only workdir_max_bytes is held'],
  ];
  return rules
    .filter(([unenforced]) => unenforced)
    .map(([, path, what]) => {
      const message = `${renderKeyPath(path)} is not enforced on commands and programs here (${mechanism}): ${what}`;
      const hint = 'svc run --explain-scope says what is; --containment refuses a host that does less';
      return new Diagnostic('W-SEC-032', message, { hint, location: locate(path, 'key') });
    });
}

/** `E-CAP-018` for limits that have to be held, where nothing holds them, or only `svc` itself and too late. */
export function unheldLimits(
  { manifest, locate }: Pick<LoadedManifest, 'manifest' | 'locate'>,
  limits: readonly HeldLimit[],
): readonly Diagnostic[] {
  if (manifest.capabilities.resources?.enforce !== 'required') return [];
  const unheld = limits.filter((each) => each.max !== null && ['none', 'watched'].includes(each.held_by));
  if (unheld.length === 0) return [];
  const told = unheld.map((each) => `${each.resource} of a ${each.of} (${each.max}) by ${each.held_by}`).join(', ');
  const message = `capabilities.resources.enforce is required, and here limits are not held: ${told}`;
  const hint = 'docs/containment.md, "Limits", says what holds them; enforce: available goes on without';
  const location = locate(['capabilities', 'resources', 'enforce'], 'value');
  return [new Diagnostic('E-CAP-018', message, { hint, location })];
}

/** Whether something runs outside a component: a command, or a model behind a process. Native tools are known by their archives only. */
function runsPrograms({ capabilities, inference }: CapsuleManifest): boolean {
  return (capabilities.shell?.allow.length ?? 0) > 0 || inference.transport === 'process';
}

/** What the manifest declares and this version does not do: the operator is told that it is missing (`W-RUN-002`). */
export function unavailableParts({ manifest, locate }: LoadedManifest): readonly Diagnostic[] {
  return manifest.artifacts.flatMap(({ config }, index) => {
    if (config === undefined) return [];
    const path: KeyPath = ['artifacts', index, 'config'];
    const message = `${renderKeyPath(path)} is declared, but not available in this version: it is handed to nobody`;
    return [new Diagnostic('W-RUN-002', message, { location: locate(path, 'key') })];
  });
}
