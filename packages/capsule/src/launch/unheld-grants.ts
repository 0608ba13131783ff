/** Warns of the grants and limits of a manifest that this host cannot hold programs to. */

import type { MatchedCall } from '@svc/artifacts/manifest/approvals.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { renderKeyPath, type KeyPath } from '@svc/artifacts/manifest/key-path.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { ArtifactManifest, CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type { HeldLimit } from '@svc/protocol/held-limit.ts';

/**
 * `W-RUN-059` for a launch whose programs get less than `scoped` from this host: shell commands, native tools, servers of tools, a driver
 * that is a process. Returns null where the capsule has no programs, or they are contained. In one line, at each run
 * (docs/adr/terminal-and-viewer.md "What standard error says of a run").
 */
export function weakPrograms(
  { manifest }: Pick<LoadedManifest, 'manifest'>,
  artifacts: readonly Pick<InstalledArtifact, 'manifest'>[],
  { achieved, mechanism, reason }: Pick<Containment, 'achieved' | 'mechanism' | 'reason'>,
): Diagnostic | null {
  if (achieved !== 'advisory') return null;
  const commands = manifest.capabilities.shell?.allow.length ?? 0;
  const programs = artifacts.filter(({ manifest }) => isProgram(manifest)).length;
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

/** Whether an artifact is a program of this machine: svc itself asks a server on the web. */
export function isProgram({ implementation, url }: ArtifactManifest): boolean {
  return implementation !== 'wasm' && url === undefined;
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
  const { filesystem, network, project, resources } = manifest.capabilities;
  const narrowed = filesystem?.scope !== undefined || filesystem?.read_only === true;
  const listed = (network?.allow.length ?? 0) > 0;
  const rules: readonly [unenforced: boolean, path: KeyPath, what: string][] = [
    [narrowed && achieved === 'advisory', ['capabilities', 'filesystem'], 'any file of the user can be reached'],
    [
      project !== undefined && achieved === 'advisory',
      ['capabilities', 'project'],
      'any file of the user can be changed',
    ],
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

/** `E-APR-001` for rules of paths about tools that are no components: a program opens its files itself. */
export function undecidedPaths(
  { manifest: { approvals }, locate }: Pick<LoadedManifest, 'manifest' | 'locate'>,
  artifacts: readonly Pick<InstalledArtifact, 'entry' | 'manifest'>[],
): readonly Diagnostic[] {
  const programs = artifacts.filter(({ manifest }) => manifest.implementation !== 'wasm');
  return (approvals?.rules ?? []).flatMap((rule, index) =>
    (Object.entries(rule) as [string, MatchedCall][]).flatMap(([verdict, { tool, path }]) => {
      if (path === undefined || !programs.some(({ entry }) => entry.name === tool)) return [];
      const place = ['approvals', 'rules', index, verdict, 'path'];
      const message = `${renderKeyPath(place)} cannot be decided: ${tool} is no component, and opens its files itself`;
      const hint = 'capabilities.filesystem and artifacts[].capabilities say what a program may write';
      return [new Diagnostic('E-APR-001', message, { hint, location: locate(place, 'key') })];
    }),
  );
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
