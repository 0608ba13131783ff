/** The command `svc list`: shows artifacts and where each comes from. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';

import { loadTrustPolicy, type TrustPolicy } from '@svc/artifacts/manifest/trust-policy.ts';
import type { ArtifactEntry } from '@svc/artifacts/manifest/schema.ts';
import { kindOfArchive } from '@svc/artifacts/store/open-stored.ts';
import { type ArtifactRef, spell } from '@svc/artifacts/store/artifact-ref.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { listStored } from '@svc/artifacts/store/list-stored.ts';
import { localPlaces } from '@svc/artifacts/store/store-places.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { commandWith } from '@svc/artifacts/store/lock-faults.ts';
import { resolveEach } from '@svc/artifacts/store/resolve.ts';
import { renderSigner } from '@svc/artifacts/store/trust/rule-signers.ts';
import { signaturesBeside } from '@svc/artifacts/store/trust/signature-bundle.ts';
import { decodeSigner, encodeSigner } from '@svc/artifacts/store/trust/signer.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render, renderFailure } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { openProject, placesOf, type Project } from '../command/project.ts';

interface ListOptions {
  readonly manifest: string;
  readonly all?: boolean;
  readonly json?: boolean;
}

/** `origin`, `location` and `sha256` are null for an artifact of the manifest that is not there or cannot be used. */
interface ListRow extends ArtifactRef {
  readonly kind: string | null;
  readonly origin: string | null;
  readonly platform: string | null;
  readonly sha256: string | null;
  readonly location: string | null;
  /** How many signatures lie beside it; null for what has none of its own: a folder, and what comes with `svc`. */
  readonly signatures: number | null;
  /** Who signed it, as a rule of the trust policy wants it; null where no rule has looked. */
  readonly signed_by: Readonly<Record<string, string>> | null;
  /** What its MCP server listed and no session offers, and why; null for anything else, and for a server that no session has asked. */
  readonly left_out: readonly string[] | null;
}

const columns: readonly Column[] = [
  { title: 'NAME', keeps: 24 },
  { title: 'VERSION', keeps: 7 },
  { title: 'KIND' },
  { title: 'FROM' },
  { title: 'PLATFORM', keeps: 8 },
  { title: 'SHA256' },
];

const whereIs = { bundled: 'bundled', project: "in the project's store", user: "in the user's store" } as const;

/** `svc list`: the artifacts of the manifest and where each comes from; with `--all`, what every local place holds. */
export function listCommand(context: CommandContext): Command {
  return new Command('list')
    .description('List the artifacts of the manifest, or with --all everything in the stores.')
    .option('--manifest <path>', 'the manifest of the project', './svc.yaml')
    .option('-g, --all', 'list what is bundled and what the stores of project and user hold')
    .option('--json', 'write one JSON object per line')
    .action(async (options: ListOptions) => {
      const rows =
        options.all === true
          ? await storedRows(placesOf(context, options.manifest), context)
          : await manifestRows(await projectOf(options, context), context);
      write(rows, options, context);
    });
}

/** Where there is no manifest, the refusal says what can be listed without one. */
async function projectOf(options: ListOptions, context: CommandContext): Promise<Project> {
  try {
    return await openProject(context, options.manifest);
  } catch (error) {
    if (!(error instanceof DiagnosticList) || existsSync(resolve(context.cwd, options.manifest))) throw error;
    const [missing, ...others] = error.diagnostics;
    if (missing?.code !== 'E-IO-001' || others.length > 0) throw error;
    const hint = `${missing.hint}; ${elsewhere(options, context)}`;
    throw new Diagnostic('E-IO-001', missing.message, { hint, cause: error });
  }
}

/** How much every local place holds, and the command that lists it. */
function elsewhere({ manifest }: ListOptions, context: CommandContext): string {
  const counts = localPlaces(placesOf(context, manifest)).flatMap(({ origin, root }) => {
    const count = new Set(listStored(root).map(spell)).size;
    return count === 0 ? [] : [`${count} ${whereIs[origin]}`];
  });
  const command = commandWith('svc list --all', manifest);
  return counts.length === 0 ? 'the stores are empty' : `${counts.join(', ')}: ${command} lists them`;
}

async function storedRows(places: StorePlaces, context: CommandContext): Promise<ListRow[]> {
  const rows: ListRow[] = [];
  for (const { origin, root } of localPlaces(places)) {
    for (const { name, version, kind, platform, sha256, path } of listStored(root)) {
      const shown = kind ?? (await kindInside(path, context));
      const signatures = origin === 'bundled' ? null : signaturesBeside(path).length;
      rows.push({
        name,
        version,
        kind: shown,
        origin,
        platform,
        sha256,
        location: path,
        signatures,
        signed_by: null,
        left_out: null,
      });
    }
  }
  return rows;
}

async function kindInside(path: string, context: CommandContext): Promise<string | null> {
  try {
    return await kindOfArchive(path);
  } catch (error) {
    // Reports an archive that cannot be read, and lists the others.
    const failure = renderFailure(error, context);
    if (failure === null) throw error;
    context.stderr.write(failure);
    return null;
  }
}

async function manifestRows(project: Project, context: CommandContext): Promise<ListRow[]> {
  // Nothing is fetched for a list.
  const resolutions = await resolveEach(project.entries, { ...project, sources: () => [] });
  const rows = resolutions.map(async (resolution): Promise<ListRow> => {
    if (resolution.kind === 'installed') return await installedRow(resolution.artifact, context);
    const { entry, fault } = resolution;
    context.stderr.write(render(fault instanceof DiagnosticList ? fault.diagnostics : [fault], context));
    return absentRow(entry);
  });
  return await Promise.all(rows);
}

async function installedRow(artifact: InstalledArtifact, { home }: CommandContext): Promise<ListRow> {
  const { entry, manifest, origin, platform, sha256, location, admission } = artifact;
  const { name, version } = entry;
  const isStored = origin === 'project' || origin === 'user';
  const signatures = isStored ? signaturesBeside(location).length : null;
  const signed_by = admission?.kind === 'signed' ? encodeSigner(admission.signer) : null;
  const left_out = manifest.implementation === 'mcp' ? await leftOut(sha256, home) : null;
  const row = { name, version, kind: manifest.runtime, origin, platform, sha256, location };
  return { ...row, signatures, signed_by, left_out };
}

function absentRow({ name, version, runtime: kind }: ArtifactEntry): ListRow {
  const place = { origin: null, platform: null, sha256: null, location: null };
  return { name, version, kind, ...place, signatures: null, signed_by: null, left_out: null };
}

async function leftOut(sha256: string, home: string): Promise<readonly string[] | null> {
  const { KeptLists } = await import('@svc/session/tools/mcp/listed-tools.ts');
  return await new KeptLists(join(home, '.svc', 'cache')).leftOut(sha256);
}

function write(rows: readonly ListRow[], options: ListOptions, context: CommandContext): void {
  if (options.json === true) {
    for (const row of rows) context.stdout.write(jsonLine(row));
    return;
  }
  if (rows.length === 0) {
    context.stderr.write(
      options.all === true
        ? say`the stores are empty\n`
        : say`the manifest needs no artifact; ${elsewhere(options, context)}\n`,
    );
    return;
  }
  const cells = rows.map((row) => [
    row.name,
    row.version,
    row.kind ?? '-',
    row.origin ?? 'missing',
    row.platform ?? '-',
    row.sha256?.slice(0, 12) ?? '-',
  ]);
  const signers = shownSigners(rows, context);
  context.stdout.write(
    signers === null
      ? renderTable(columns, cells, context.stdout)
      : renderTable(
          [...columns, { title: 'SIGNED BY', keeps: 12 }],
          cells.map((row, index) => row.concat(signers[index] ?? '-')),
          context.stdout,
        ),
  );
}

/** Returns null where nothing is signed: most have no column for it. */
function shownSigners(rows: readonly ListRow[], { home }: CommandContext): readonly string[] | null {
  const policy = rows.some(({ signed_by: by }) => by !== null) ? loadTrustPolicy(home) : null;
  const signers = rows.map((row) => shownSigner(row, policy));
  return signers.every((signer) => signer === '-') ? null : signers;
}

function shownSigner({ signatures, signed_by: by }: ListRow, policy: TrustPolicy | null): string {
  const signer = decodeSigner(by);
  if (signer !== null) return renderSigner(signer, policy);
  return signatures === null || signatures === 0 ? '-' : `${signatures}, not checked`;
}
