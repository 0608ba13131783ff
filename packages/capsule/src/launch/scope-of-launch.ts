/** Reads the manifest and works out what the session may do on this machine. */

import { join } from 'node:path';

import { lower, type EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import { encodeScope, type ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { CaptureLevel } from '@svc/artifacts/manifest/capture-levels.ts';
import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { ArtifactSource } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { admissionWarnings } from '@svc/artifacts/store/resolve.ts';
import { type Diagnostic, diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { type Environment, namesNetwork } from '@svc/kit/environment.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import { effectiveFloor, parseCeiling } from '@svc/sandbox/floor.ts';
import { hostContainment, type HostFacts } from '@svc/sandbox/host-containment.ts';
import type { LimitHold } from '@svc/sandbox/limits/held-limits.ts';
import { answerFloor, type FloorQuestion } from './answer-floor.ts';
import { absentCommands, unavailableParts } from './launch-warnings.ts';
import {
  findCapsule,
  type CapsuleSource,
  hostFacts,
  keptElsewhere,
  placedRequest,
  delegationOfLaunch,
  type LaunchDelegation,
} from './launch-host.ts';
import { manifestScope } from './manifest-scope.ts';
import type { GrantedPlaces, MachineNetwork } from './machine-network.ts';
import type { GrantedFolder } from './granted-folder.ts';
import type { readProjectText as ReadProjectText } from './project-text.ts';
import { loadManifest, operatorCommand, workspaceConfig } from './read-manifest.ts';
import type { GivenProject, RunRequest } from './running-capsule.ts';
import { faultsOfSecrets, listenerTokenOf, sessionRedactor } from './session-secrets.ts';
import { asksForTelemetry } from './telemetry-variables.ts';

/** What of a request decides the scope of a session: neither its task nor its port, and of its workdir where it lies. */
export type ScopeRequest = Pick<
  RunRequest,
  | 'manifestFile'
  | 'manifestText'
  | 'published'
  | 'adhoc'
  | 'readEnvFile'
  | 'floor'
  | 'project'
  | 'openFolder'
  | 'workdir'
  | 'writesGit'
  | 'cwd'
  | 'home'
  | 'env'
  | 'telemetryEnv'
  | 'build'
> & {
  /** Whether it is only reported, and nothing is made. */
  readonly isReport?: true;
} & Partial<Pick<RunRequest, 'approval'>>;

/** What manifest, configuration and host decide about a launch, before anything is looked for or written. */
export interface LaunchScope {
  readonly source: CapsuleSource;
  /** The process environment over the `.env` file. */
  readonly env: Environment;
  readonly loaded: LoadedManifest;
  readonly listenerToken: Secret | null;
  readonly redactor: Redactor;
  readonly containment: Containment;
  readonly grants: EffectiveGrants;
  /** What it sees as `project/`, or the workdir that was named; null for a fresh workdir alone. */
  readonly project: GivenProject | null;
  /** What each conversation begins with: `inference.project_text`. Null without such a file. */
  readonly projectText: string | null;
  /** What holds processes to the limits that the scope names. */
  readonly hold: LimitHold;
  readonly scope: ScopeObject;
  readonly network: Pick<MachineNetwork, 'proxyFor' | 'authorities'>;
  readonly delegation: Omit<LaunchDelegation, 'refusals'>;
  /** The words of the operator's program that hears of the session; null for another target, or none. */
  readonly notifyCommand: readonly string[] | null;
  /** The most that the workspace lets a session keep of itself. */
  readonly captureCeiling: CaptureLevel;
  /** Why the capsule must not be launched like this; empty when nothing found so far stands in the way. */
  readonly refusals: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

/**
 * Reads the manifest and the configuration and asks the host what it contains processes with. Throws where the scope itself
 * cannot be determined: a manifest or configuration that is not readable or not valid.
 */
export async function scopeOfLaunch(
  asked: ScopeRequest,
  places: Omit<StorePlaces, 'manifestDir'>,
): Promise<LaunchScope> {
  // The operator's own, so never out of the `.env` of a workspace.
  const ceiling = parseCeiling(asked.env['SVC_CONTAINMENT_CEILING']);
  const facts = hostFacts({ home: asked.home, packageRoot: places.packageRoot, ceiling });
  const found = await findHeldCapsule(asked, { ...places, manifestDir: asked.cwd }, facts);
  const ownEnv = loadEnvironment({ directory: found.root, process: asked.env, useFile: asked.readEnvFile });
  const keeper =
    asked.build === undefined ? null : { directory: facts.cacheDirectory, uid: facts.uid, build: asked.build };
  const text = asked.adhoc?.text ?? asked.manifestText;
  const { loaded: written, missing } = await loadManifest(found.manifestFile, { env: ownEnv, keeper, text });
  const { loaded, ...skills } = await withSkills(written, found, places);
  const workspace = await workspaceConfig({ directory: found.root, env: ownEnv });
  const { grants, warnings } = lower(loaded);
  const request = placedRequest(asked, grants);
  const containment = await hostContainment(facts);
  const folder = await folderOf(request, {
    found,
    loaded,
    grants,
    containment,
    ownEnv,
    packageRoot: places.packageRoot,
  });
  const { project, source, env } = folder;
  const placed = { names: loaded.manifest.inference.project_text, project, workdir: request.workdir, source };
  const { report, refusal } = answerFloor({
    declared: effectiveFloor({
      manifest: grants.containmentFloor ?? undefined,
      workspace: workspace.containment,
      flag: request.floor,
    }),
    containment,
    ceiling,
  });
  const hold = await containment.hold({
    resources: grants.resources,
    directories: writtenDirectories(request, source, { grants, project }),
  });
  const unheld = await unheldParts(loaded, containment, hold);
  const listenerToken = listenerTokenOf(request.env);
  const unfit = await faultsOfSecrets({ loaded, listenerToken });
  const network = await networkOf({ ...grants, asksHosts: request.adhoc?.widening !== undefined }, request.env);
  const { refusals, ...delegation } = delegationOfLaunch({ ...grants, env, processEnv: request.env });
  const redactor = await sessionRedactor({
    apiKey: loaded.apiKey ?? null,
    ...(loaded.credentials === undefined ? {} : { credentials: loaded.credentials }),
    listenerToken,
    grants,
    references: loaded.references,
    env,
    headers: [
      ...(await telemetrySecrets(request.telemetryEnv)),
      ...network.secrets,
      ...(loaded.notifySecret === undefined ? [] : [loaded.notifySecret]),
    ],
    artifacts: loaded.manifest.artifacts,
  });
  const read = await projectTextOf(placed, redactor);
  const notifyCommand = await operatorCommand({ ...asked, uid: facts.uid }, loaded);
  return {
    source,
    env,
    loaded,
    listenerToken,
    redactor,
    projectText: read.found?.text ?? null,
    containment,
    grants,
    hold,
    project,
    scope: {
      ...encodeScope(grants, report, hold.limits),
      ...network.proxied,
      ...(await commandReads(request, source, loaded)),
      ...manifestScope(loaded),
      ...(notifyCommand === null ? {} : { notified: notifyCommand[0] ?? '' }),
      ...project?.scope,
      ...read.found?.scope,
    },
    network,
    delegation,
    notifyCommand,
    captureCeiling: workspace.captureCeiling ?? 'content',
    refusals: [
      ...missing,
      ...skills.refusals,
      ...unfit.refusals,
      ...(refusal === null ? [] : [refusal]),
      ...unheld.limits,
      ...(grants.bindings.length === 0
        ? []
        : (await import('./unheld-keys.ts')).unheldCommands(grants, loaded, report.achieved)),
      ...network.refusals,
      ...refusals,
      ...folder.refusals,
      ...(await hostReadRefusals(request, source, { loaded, grants, project })),
    ],
    warnings: [
      admissionWarnings([source]),
      keptElsewhere(source),
      loaded.warnings,
      skills.warnings,
      workspace.warnings,
      warnings,
      unavailableParts(loaded),
      unfit.warnings,
      unheld.grants,
      network.warnings,
      absentCommands({ loaded, env, source, isAdhoc: request.adhoc !== undefined }),
      folder.warnings,
      read.warnings,
      request.adhoc?.warnings ?? [],
    ].flat(),
  };
}

/** Nothing is looked for without the key. A skill that `svc.lock` does not record is left out; without a lock, each is. */
async function withSkills(
  loaded: LoadedManifest,
  { archive, holdsLock, lockDirectory, manifestDirectory: manifestDir }: CapsuleSource,
  places: Omit<StorePlaces, 'manifestDir'>,
): Promise<Pick<LaunchScope, 'loaded' | 'refusals' | 'warnings'>> {
  if (loaded.manifest.skills === undefined) return { loaded, refusals: [], warnings: [] };
  const { notInArchive, withDiscovered } = await import('@svc/artifacts/store/discovered-skills.ts');
  if (archive !== undefined) return { loaded, refusals: [], warnings: [notInArchive(loaded.file)] };
  let lock: ReturnType<typeof readLock> = null;
  const refusal = diagnosticOf(() => {
    if (holdsLock) lock = readLock(lockDirectory);
  });
  if (refusal !== null) return { loaded, refusals: [refusal], warnings: [] };
  return { ...(await withDiscovered(loaded, { ...places, manifestDir }, lock ?? [])), refusals: [] };
}

interface FolderQuestion {
  readonly found: CapsuleSource;
  readonly loaded: LoadedManifest;
  readonly grants: EffectiveGrants;
  readonly containment: Containment;
  readonly ownEnv: Environment;
  readonly packageRoot: string;
}

/** Nothing of it is loaded for a capsule that neither asks for a folder nor is given one. */
async function folderOf(request: ScopeRequest, question: FolderQuestion): Promise<GrantedFolder> {
  const { found: source, ownEnv: env, grants, containment, ...facts } = question;
  const given = request.adhoc?.project ?? null;
  const isAsked = grants.project !== null || (request.project !== undefined && request.project.ofParent === undefined);
  if (given !== null || !isAsked) return { project: given, source, env, refusals: [], warnings: [] };
  const { grantedFolder } = await import('./granted-folder.ts');
  return await grantedFolder({
    ...facts,
    request,
    source,
    grants,
    achieved: containment.achieved,
    env,
    isReport: request.isReport === true,
  });
}

/** Nothing is looked for without the key. */
async function projectTextOf(
  place: {
    readonly names: readonly string[] | undefined;
    readonly project: GivenProject | null;
    readonly workdir: string | null;
    readonly source: CapsuleSource;
  },
  redactor: Redactor,
): Promise<ReturnType<typeof ReadProjectText>> {
  const { names, project, workdir, source } = place;
  if (names === undefined) return { found: null, warnings: [] };
  const { readProjectText } = await import('./project-text.ts');
  const { path, masked = [] } = project?.scope.project_folder ?? {};
  const folder = path ?? workdir ?? join(source.state, 'workdir');
  return readProjectText({ names, folder, masked, redact: (text) => redactor.redact(text) });
}

async function unheldParts(
  loaded: LoadedManifest,
  containment: Containment,
  { limits }: LimitHold,
): Promise<{ readonly grants: readonly Diagnostic[]; readonly limits: readonly Diagnostic[] }> {
  const isAllHeld = containment.achieved === 'sealed' && loaded.manifest.capabilities.resources?.enforce !== 'required';
  if (isAllHeld) return { grants: [], limits: [] };
  const { unenforcedGrants, unheldLimits } = await import('./unheld-grants.ts');
  return { grants: unenforcedGrants(loaded, containment), limits: unheldLimits(loaded, limits) };
}

const straight: MachineNetwork = {
  proxyFor: null,
  proxied: {},
  secrets: [],
  authorities: null,
  refusals: [],
  warnings: [],
};

async function networkOf(grants: GrantedPlaces, env: Environment): Promise<MachineNetwork> {
  if (!namesNetwork(env)) return straight;
  return (await import('./machine-network.ts')).machineNetwork(grants, env);
}

async function telemetrySecrets(env: Environment): Promise<readonly Secret[]> {
  if (!asksForTelemetry(env)) return [];
  return (await import('./telemetry-secrets.ts')).headerSecrets(env);
}

/** What `inference.command` opens of the host. Commands of artifacts are not known before they are found. */
async function commandReads(
  { workdir, home }: ScopeRequest,
  { state }: CapsuleSource,
  { manifest, directory }: LoadedManifest,
): Promise<Pick<ScopeObject, 'command_reads'>> {
  const { transport, command } = manifest.inference;
  if (transport !== 'process') return {};
  const [{ driverWords }, { operatorFiles }] = await Promise.all([
    import('@svc/session/model/process-driver.ts'),
    import('./operator-files.ts'),
  ]);
  const places = { manifestDirectory: directory, home, workdir: workdir ?? join(state, 'workdir') };
  const { reads } = operatorFiles(driverWords(command ?? ''), places);
  return reads.length === 0 ? {} : { command_reads: reads };
}

/** Nothing of the host is looked at for a capsule that names none of it. */
async function hostReadRefusals(
  { home, workdir, env, adhoc }: ScopeRequest,
  { root, state }: CapsuleSource,
  {
    loaded,
    grants: { hostRead },
    project,
  }: { readonly loaded: LoadedManifest; readonly grants: EffectiveGrants; readonly project: GivenProject | null },
): Promise<readonly Diagnostic[]> {
  if (hostRead.length === 0) return [];
  const { refusedHostReads } = await import('./host-reads.ts');
  const given = project?.scope.project_folder?.path ?? workdir ?? join(state, 'workdir');
  const surroundings = { home, own: [root, state, loaded.directory], given: [given], env };
  const flag = adhoc === undefined ? null : '--host-read';
  return refusedHostReads(hostRead, surroundings, { locate: loaded.locate, flag });
}

/** Where the programs of the capsule will write, made or not. */
function writtenDirectories(
  { workdir, home }: ScopeRequest,
  { state }: CapsuleSource,
  {
    grants: { artifacts },
    project: given,
  }: { readonly grants: EffectiveGrants; readonly project: GivenProject | null },
): readonly string[] {
  const project = given?.scope.project_folder?.path;
  const stores = artifacts.some(({ stateStores }) => stateStores.length > 0) ? [join(home, '.svc', 'state')] : [];
  return [workdir ?? join(state, 'workdir'), ...stores, ...(project === undefined ? [] : [project])];
}

/** A manifest file is there already; only a published capsule may have to be fetched, and the host is asked before. */
async function findHeldCapsule(request: ScopeRequest, places: StorePlaces, facts: HostFacts): Promise<CapsuleSource> {
  if (request.published === null) return await findCapsule(request, places);
  const host = { containment: await hostContainment(facts), ceiling: facts.ceiling };
  const sources = async (): Promise<readonly ArtifactSource[]> => {
    const asked = await places.sources();
    if (asked.length > 0) await holdToKnownFloor(request, host);
    return asked;
  };
  return await findCapsule(request, { ...places, sources });
}

/**
 * What is known of the floor before the manifest of a published capsule is here: it is not fetched where that is refused already (D1
 * "Command line" 2).
 */
async function holdToKnownFloor(request: ScopeRequest, host: Omit<FloorQuestion, 'declared'>): Promise<void> {
  const env = loadEnvironment({ directory: request.cwd, process: request.env, useFile: request.readEnvFile });
  const workspace = await workspaceConfig({ directory: request.cwd, env });
  const declared = effectiveFloor({ manifest: undefined, workspace: workspace.containment, flag: request.floor });
  const { refusal } = answerFloor({ ...host, declared });
  if (refusal !== null) throw refusal;
}
