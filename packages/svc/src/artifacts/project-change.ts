/** What the commands share that change which artifacts a project uses: they open it, plan, show the plan, and make the change. */

import { resolve } from 'node:path';

import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import { declaredArtifacts } from '@svc/artifacts/manifest/declared-artifacts.ts';
import { type ArtifactEdit, type ArtifactRow, editArtifacts } from '@svc/artifacts/manifest/edit-artifacts.ts';
import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { loadTrustPolicy } from '@svc/artifacts/manifest/trust-policy.ts';
import { spell } from '@svc/artifacts/store/artifact-ref.ts';
import { decidesInstall } from '@svc/artifacts/store/build-archive.ts';
import { changeArtifacts, readManifest } from '@svc/artifacts/store/change-artifacts.ts';
import type { FoundArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { InstalledRef } from '@svc/artifacts/store/install.ts';
import { plannedArchive } from '@svc/artifacts/store/planned-archive.ts';
import { renderSigner } from '@svc/artifacts/store/trust/rule-signers.ts';
import { encodeSigner, type Signer } from '@svc/artifacts/store/trust/signer.ts';
import { type RegistryInUse, registryInUse } from '@svc/artifacts/store/sources/registry-in-use.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shownBytes } from '@svc/kit/shown-values.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { rememberOwn } from '../command/known-projects.ts';
import { lazySources, placesOf, registryChoice } from '../command/project.ts';
import { DownloadView } from '../shown/transfer-view.ts';
import { createArrivalCheck, createCompileAhead } from './component-checks.ts';
import { plannedSigners } from './planned-signers.ts';
import type { OpenedProject, PlannedChange, ChangeOptions } from './opened-project.ts';

/** Reads the manifest, and refuses one that cannot be used: nothing is fetched for it. */
export function openForChange(context: CommandContext, options: ChangeOptions, signal: AbortSignal): OpenedProject {
  const places = placesOf(context, options.manifest);
  const manifestPath = resolve(context.cwd, options.manifest);
  const choice = registryChoice(context, { flag: options.registry, signal });
  const view = new DownloadView(context, context.stderr.isTerminal);
  const compile = createCompileAhead(places);
  const onWarning = (warning: Diagnostic): void => void context.stderr.write(render([warning], context));
  const load = (text?: string): LoadedManifest => {
    const env = loadEnvironment({ directory: places.manifestDir, process: context.env, useFile: true });
    const of = { file: manifestPath, env, purpose: 'inspect', needs: decidesInstall } as const;
    return loadCapsuleManifest(text === undefined ? of : { ...of, text });
  };
  const loaded = load();
  let registry: RegistryInUse | null = null;
  return {
    context,
    options,
    choice,
    loaded,
    listed: loaded.manifest.artifacts,
    registry: () => (registry ??= registryInUse(choice)),
    request: {
      ...places,
      networkAllow: lower(loaded).grants.networkAllow,
      manifestPath,
      manifestFile: options.manifest,
      entriesOf: (text) => declaredArtifacts(load(text).manifest),
      sources: lazySources(choice),
      fetching: {
        observer: view,
        renewsSignatures: true,
        acceptSigner: options.acceptSigner === true,
        checkArtifact: createArrivalCheck(places),
        states: { allowsYanked: options.allowYanked === true, tellsDeprecated: true, onWarning },
      },
      prepare: async (artifact: FoundArtifact) => {
        if (signal.aborted) throw new Diagnostic('E-IO-003', 'the command was interrupted');
        view.say(`preparing ${spell(artifact.manifest)}`);
        await compile(artifact);
      },
      onSkills: async (...of) => {
        const { skillJudge } = await import('./skill-changes.ts');
        await skillJudge(context, options.acceptTools === true)(...of);
      },
      onStored: () => {},
      onWarning,
    },
  };
}

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 20 },
  { title: 'BEFORE', keeps: 7 },
  { title: 'AFTER', keeps: 7 },
  { title: 'RANGE', keeps: 6 },
  { title: 'SIZE' },
  { title: 'SHA256' },
];

interface ChangeRow {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly range: string | null;
  /** The lines of the manifest that go (`-`) and that come (`+`). */
  readonly lines: readonly string[];
}

/** Adds an entry whose version and place are known, and makes the change. */
export async function addEntry(row: ArtifactRow, opened: OpenedProject): Promise<void> {
  await carryOut([addition(row)], opened);
}

/** The change that adds an entry whose version and place are known. */
export function addition(row: ArtifactRow): PlannedChange {
  const edit: ArtifactEdit = { kind: 'add', row };
  const { name, version } = row;
  const sure = { before: null, after: version, range: null, candidate: null, wanted: null };
  return { name, ...sure, expectedEdit: edit, edit: () => edit };
}

/** Makes the changes, or only says what they would be (`--dry-run`). */
export async function carryOut(plan: readonly PlannedChange[], opened: OpenedProject): Promise<void> {
  const { request, options, context } = opened;
  // Refuses what cannot be edited before anything is fetched.
  const rows = rowsOf(plan, opened);
  if (options.dryRun === true) {
    show(rows, 'planned', opened, await plannedArchives(plan, opened));
    return;
  }
  if (plan.length === 0) {
    show(rows, 'changed', opened);
    return;
  }
  const brought = await changeArtifacts(plan, request);
  await rememberOwn(context, options.manifest);
  show(rows, 'changed', opened, new Map(brought.map((each) => [spell(each), each])));
  if (context.stderr.isTerminal) context.stderr.write(say`changed ${options.manifest} and svc.lock\n`);
}

function rowsOf(plan: readonly PlannedChange[], { request, options }: OpenedProject): readonly ChangeRow[] {
  let text = readManifest(request.manifestPath);
  const rows = plan.map(({ name, before, after, range, expectedEdit }) => {
    const edited = editArtifacts(options.manifest, text, [expectedEdit]);
    const lines = changedLines(text, edited);
    text = edited;
    return { name, before, after, range, lines };
  });
  request.entriesOf(text);
  return rows;
}

/** What is known of an archive that was brought, or would be. */
interface KnownArchive extends Pick<InstalledRef, 'sha256'> {
  readonly bytes: number | null;
  readonly admission?: InstalledRef['admission'];
}

/** What the change would bring, by its spelling, and who signed it as far as somebody wants to know. */
async function plannedArchives(
  plan: readonly PlannedChange[],
  opened: OpenedProject,
): Promise<ReadonlyMap<string, KnownArchive>> {
  const archives = new Map<string, KnownArchive>();
  for (const change of plan) {
    const archive = await plannedArchive(change, opened.request);
    if (archive !== null && change.wanted !== null) archives.set(spell(change.wanted), archive);
  }
  for (const [ref, admission] of await plannedSigners(plan, opened)) {
    const archive = archives.get(ref);
    if (archive !== undefined) archives.set(ref, { ...archive, admission });
  }
  return archives;
}

/** The lines between what is equal at the beginning and at the end. */
function changedLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split(/\r?\n/), after.split(/\r?\n/)];
  let first = 0;
  while (first < old.length && first < now.length && old[first] === now[first]) first += 1;
  let last = 0;
  while (last < old.length - first && last < now.length - first && old.at(-1 - last) === now.at(-1 - last)) last += 1;
  const gone = old.slice(first, old.length - last).map((line) => `- ${line}`);
  return [...gone, ...now.slice(first, now.length - last).map((line) => `+ ${line}`)];
}

/** `brought` is what was fetched for it, by its spelling. */
function show(
  rows: readonly ChangeRow[],
  outcome: 'planned' | 'changed',
  { options, context }: OpenedProject,
  brought: ReadonlyMap<string, KnownArchive> = new Map(),
): void {
  const broughtFor = ({ name, after }: ChangeRow): KnownArchive | undefined =>
    after === null ? undefined : brought.get(spell({ name, version: after }));
  if (options.json === true) {
    for (const row of rows) {
      const { name, before, after, range, lines } = row;
      const { bytes = null, sha256 = null } = broughtFor(row) ?? {};
      const signer = signerOf(broughtFor(row));
      const signed_by = signer === null ? null : encodeSigner(signer);
      context.stdout.write(jsonLine({ name, before, after, range, bytes, sha256, signed_by, lines, outcome }));
    }
    return;
  }
  if (rows.length === 0) {
    context.stderr.write(say`nothing changes\n`);
    return;
  }
  const cells = rows.map((row) => {
    const { bytes = null, sha256 } = broughtFor(row) ?? {};
    const versions = [row.name, row.before ?? '-', row.after ?? '-', row.range ?? '-'];
    return [...versions, bytes === null ? '-' : shownBytes(bytes), sha256?.slice(0, 12) ?? '-'];
  });
  context.stdout.write(renderTable(columns, cells, context.stdout));
  const policy = brought.size === 0 ? null : loadTrustPolicy(context.home);
  for (const row of rows) {
    const signer = signerOf(broughtFor(row));
    if (signer === null) continue;
    const versions = [...new Set([row.before, row.after])].filter((version) => version !== null).join(' → ');
    context.stdout.write(say`${row.name} ${versions} (signed by ${renderSigner(signer, policy)})\n`);
  }
  if (outcome === 'changed') return;
  context.stdout.write(say`\n${options.manifest} would change:\n`);
  for (const line of rows.flatMap(({ lines }) => lines)) context.stdout.write(exactLine`${line}\n`);
}

/** Returns null where nobody has signed, or no policy wants to know. */
function signerOf(brought: KnownArchive | undefined): Signer | null {
  return brought?.admission?.kind === 'signed' ? brought.admission.signer : null;
}
