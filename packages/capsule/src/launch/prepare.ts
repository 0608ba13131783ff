/** Decides everything about a launch that needs no port. */

import { basename } from 'node:path';
import { arch, platform } from 'node:process';

import { type CaptureLevel, lowerCapture, usualCapture } from '@svc/artifacts/manifest/capture-levels.ts';
import type { Approvals } from '@svc/artifacts/manifest/approvals.ts';
import { decidesPrograms, toolsOfPaths } from '@svc/artifacts/manifest/decided-inside.ts';
import { declaredArtifacts } from '@svc/artifacts/manifest/declared-artifacts.ts';
import type { ArtifactCheck, InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { platformOf, spell } from '@svc/artifacts/store/artifact-ref.ts';
import { admissionWarnings, resolveArtifacts } from '@svc/artifacts/store/resolve.ts';
import { hookDeclaration, hookProblem, mayCommit } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { bundledCompaction, bundledVersion } from '@svc/artifacts/manifest/names.ts';
import { DiagnosticList, Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { needsHome } from '@svc/kit/files/home-directory.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { findInitialTask, type InitialTask } from './initial-task.ts';
import { intoUserStore } from './launch-host.ts';
import type { RunRequest } from './running-capsule.ts';
import { scopeOfLaunch, type LaunchScope } from './scope-of-launch.ts';

/** The facts of a launch that nothing refuses so far. */
export interface ScopedLaunch extends Omit<LaunchScope, 'refusals' | 'warnings' | 'captureCeiling'> {
  /** The capture level of its journal. */
  readonly capture: CaptureLevel;
  /** Whether manifest or flag require a journal: such a session cannot go on without one. */
  readonly isCaptureAsked: boolean;
  readonly initialTask: InitialTask | null;
  /** Where artifacts are looked for. */
  readonly places: Omit<StorePlaces, 'manifestDir'>;
}

/** Everything that svc decides before it binds a port or writes anything but `svc.lock`. */
export interface PreparedLaunch extends ScopedLaunch {
  readonly driverConfig: Readonly<Record<string, unknown>>;
  readonly artifacts: readonly InstalledArtifact[];
  readonly packageRoot: string;
  /** Whether no program of the capsule, nor of those that it starts, can read the files of the user, such as the key for answers. */
  readonly holdsPrograms: boolean;
}

/** Decides the scope, checks the host against the floor and finds the task, in this order. Throws a Diagnostic or a DiagnosticList. */
export async function scopeLaunch(
  request: RunRequest,
  onWarning: (warning: Diagnostic) => void,
): Promise<ScopedLaunch> {
  const { sources, fetchObserver } = request;
  const places = {
    userHome: request.home,
    packageRoot: findPackageRoot(import.meta.filename),
    platform: platformOf({ platform, arch }),
    sources,
    fetching: {
      ...(fetchObserver === null ? {} : { observer: fetchObserver }),
      // The operator did not choose these versions, so warnings of deprecation go to those who did.
      states: { allowsYanked: false, tellsDeprecated: false, onWarning },
    },
    ...(request.build === undefined ? {} : { build: request.build }),
  };
  const { refusals, warnings, captureCeiling, ...scope } = await scopeOfLaunch(request, places);
  const launch = { ...scope, loaded: settled(scope.loaded, request) };
  if (refusals.length === 0) needsHome(request.home);
  for (const warning of warnings) onWarning(warning);
  if (refusals.length > 0) throw new DiagnosticList(refusals);
  const { loaded, source } = launch;
  const find = async (): Promise<InitialTask | null> =>
    await findInitialTask({
      flag: request.task,
      readInput: request.readTask,
      cwd: request.cwd,
      manifestDirectory: source.manifestDirectory,
      taskAcceptance: loaded.manifest.lifecycle.task_acceptance,
      isDelegated: request.approval !== null,
    });
  const initialTask = await (request.changes === null ? find() : request.changes.task(find));
  for (const warning of initialTask?.warnings ?? []) onWarning(warning);
  const capture = captureOf(request, loaded, { captureCeiling, onWarning });
  const isCaptureAsked = (request.capture ?? loaded.manifest.trace.capture) !== undefined;
  return { ...launch, capture, isCaptureAsked, initialTask, places };
}

function settled(loaded: LoadedManifest, { changes }: RunRequest): LoadedManifest {
  return changes === null ? loaded : { ...loaded, manifest: changes.settle(loaded.manifest) };
}

interface CaptureLimit {
  readonly captureCeiling: CaptureLevel;
  readonly onWarning: (warning: Diagnostic) => void;
}

/** The operator's choice before the manifest's; a child keeps at most what its parent keeps. `W-RUN-062` where the workspace allows less than the choice. */
function captureOf(
  { capture, parentCapture }: RunRequest,
  { manifest }: LoadedManifest,
  { captureCeiling, onWarning }: CaptureLimit,
): CaptureLevel {
  const asked = capture ?? manifest.trace.capture;
  const allowed = lowerCapture(asked ?? usualCapture, captureCeiling);
  if (asked !== undefined && allowed !== asked) {
    const whose = capture === undefined ? 'trace.capture of the manifest' : '--capture';
    const message = `the journal keeps ${allowed}, not ${asked} as ${whose} asks: .svc/config.yaml allows no more`;
    onWarning(new Diagnostic('W-RUN-062', message));
  }
  return lowerCapture(allowed, parentCapture ?? 'content');
}

/** Finds the artifacts, after the scope is decided: a refused floor precedes any fetch (D1 "Command line" 2). */
export async function prepareLaunch(
  scoped: ScopedLaunch,
  { workdir }: Pick<RunRequest, 'workdir'>,
  onWarning: (warning: Diagnostic) => void,
): Promise<PreparedLaunch> {
  const { loaded, source, places } = scoped;
  const isElsewhere = source.state !== source.root;
  if (isElsewhere) await makeDirectory(source.state, 0o700);
  const checkArtifact: ArtifactCheck = async (manifest, content) => {
    const { createInterfaceCheck, userCompileCache } = await import('@svc/components/compiler/compile-ahead.ts');
    await createInterfaceCheck(userCompileCache(places))(manifest, content);
  };
  const wherever = { ...places, fetching: { ...places.fetching, checkArtifact } };
  const artifacts = await resolveArtifacts({
    ...(isElsewhere ? intoUserStore(wherever) : wherever),
    entries: declaredArtifacts(loaded.manifest),
    manifestDir: source.manifestDirectory,
    networkAllow: scoped.grants.networkAllow,
    manifestFile: source.manifestFile,
    lock: source.holdsLock ? 'hold' : 'ignore',
    lockDirectory: source.lockDirectory,
    onTaken: (taken) => {
      const by = basename(source.manifestFile);
      onWarning(new Diagnostic('W-REG-033', `svc.lock records ${spell(taken)} from now on: ${by} lists it anew`));
    },
  });
  for (const { inPlace } of artifacts) if (inPlace?.stale) onWarning(inPlace.stale);
  for (const warning of admissionWarnings(artifacts)) onWarning(warning);
  if (source.holdsLock && artifacts.some(({ origin }) => origin === 'user')) {
    const { rememberProject } = await import('./known-projects.ts');
    const warning = await rememberProject(places.userHome, source.lockDirectory);
    if (warning !== null) onWarning(warning);
  }
  for (const warning of checkHooks(loaded, artifacts)) onWarning(warning);
  if (artifacts.some(({ skill }) => skill !== undefined)) {
    const { checkSkills } = await import('./skill-folders.ts');
    for (const warning of checkSkills(artifacts, scoped.grants, workdir)) onWarning(warning);
  }
  // What lies in a store was looked at before it came there, and a skill has no component.
  for (const artifact of artifacts) {
    const { origin, manifest } = artifact;
    if (origin === 'source' && manifest.runtime !== 'skill') await checkArtifact(manifest, artifact);
  }
  if (scoped.grants.bindings.length > 0) {
    const { unheldTools } = await import('./unheld-keys.ts');
    const unheld = unheldTools(artifacts, scoped.grants, loaded, scoped.containment.achieved);
    if (unheld.length > 0) throw new DiagnosticList(unheld);
  }
  if (toolsOfPaths(loaded.manifest.approvals).size > 0) {
    const { undecidedPaths } = await import('./unheld-grants.ts');
    const undecided = undecidedPaths(loaded, artifacts);
    if (undecided.length > 0) throw new DiagnosticList(undecided);
  }
  let holdsPrograms = true;
  if (scoped.containment.achieved === 'advisory') {
    const { weakPrograms } = await import('./unheld-grants.ts');
    const weak = weakPrograms(loaded, artifacts, scoped.containment);
    if (weak !== null) onWarning(weak);
    // A child may run programs, whatever its parent runs.
    holdsPrograms = weak === null && scoped.grants.spawnAllow.length === 0;
    if (!holdsPrograms && loaded.manifest.approvals !== undefined) refuseToAsk(loaded.manifest.approvals);
    if (weak !== null && decidesPrograms(loaded.manifest.approvals)) throw unjudged('nothing holds programs here');
  }
  const driverConfig = await configOfDriver(loaded);
  return { ...scoped, driverConfig, packageRoot: places.packageRoot, artifacts, holdsPrograms };
}

/** `E-APR-004`: programs cannot be stopped before they begin, for a reason in words. */
export function unjudged(reason: string): Diagnostic {
  const message = `approvals.rules asks about commands or denies them, and programs that commands start cannot be judged here: ${reason}`;
  const hint =
    'set capabilities.containment to scoped, and run it where that can be had; docs/boundary.md says what it needs';
  return new Diagnostic('E-APR-004', message, { hint });
}

/** Programs that nothing holds read the key for answers. */
function refuseToAsk({ rules, ...settings }: Approvals): void {
  const asks = [settings.default, settings.opaque].includes('ask') || rules.some((rule) => rule.ask !== undefined);
  if (!asks) return;
  throw new Diagnostic(
    'E-APR-002',
    'approvals may ask a person, and nothing holds programs of the capsule or of those that it starts here',
    {
      hint: 'set capabilities.containment to scoped, and run it where that can be had; or deny in place of ask',
    },
  );
}

/**
 * Checks the hooks of a capsule: throws every `E-ART-009` and `E-ART-010` (docs/hooks.md "What a hook declares"). Gives the
 * warning `W-RUN-004` for a context limit that no hook compacts at.
 */
function checkHooks(
  { manifest, locate }: LoadedManifest,
  artifacts: readonly InstalledArtifact[],
): readonly Diagnostic[] {
  const problems = artifacts.flatMap((artifact) => hookProblem(artifact.manifest) ?? []);
  if (problems.length > 0) throw new DiagnosticList(problems);
  const limit = manifest.inference.context.max_tokens;
  const compacts = artifacts.some((artifact) => {
    if (artifact.manifest.runtime !== 'hook') return false;
    const declaration = hookDeclaration(artifact.manifest);
    return declaration.events.has('on-compaction') && mayCommit(declaration, 'replace-context', 'on-compaction');
  });
  if (limit === undefined || compacts) return [];
  const message = 'inference.context.max_tokens is declared, but no hook compacts a conversation that nears it';
  const hint = `add { name: ${bundledCompaction}, version: ${bundledVersion}, runtime: hook } to artifacts`;
  return [new Diagnostic('W-RUN-004', message, { hint, location: locate(['inference', 'context'], 'key') })];
}

/** `inference.driver.config` as the driver gets it. */
async function configOfDriver(loaded: LoadedManifest): Promise<Readonly<Record<string, unknown>>> {
  const { driver } = loaded.manifest.inference;
  if (driver?.artifact !== 'svc-driver-script') return driver?.config ?? {};
  return (await import('./scripted-driver.ts')).driverConfig(loaded);
}
