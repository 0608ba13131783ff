import type { FileHandle } from 'node:fs/promises';

import * as z from 'zod/mini';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { parseYaml } from '@svc/artifacts/manifest/yaml-source.ts';
import { archiveLimits } from '@svc/artifacts/store/archive-entry.ts';
import { readArchive, type Archive } from '@svc/artifacts/store/archive.ts';
import { spell, type ArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { manifestFile } from '@svc/artifacts/store/inspect-content.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { roles, type Role } from '@svc/protocol/registry-messages.ts';
import { badInput } from './refusals.ts';

/** What the manifest in an archive says beside name and version. */
export interface ManifestFacts {
  /** Null without a manifest, and in that of a capsule. */
  readonly role: Role | null;
  readonly description: string | null;
  readonly tags: readonly string[];
}

const label = 'the archive';
const longestDescription = 2_000;
const mostTags = 50;
const longestTag = 100;

/** What concerns the registry. The rest is the business of who installs it. */
const manifestShape = z.object({
  name: z.string(),
  version: z.string(),
  runtime: z.optional(z.enum(roles)),
  description: z.optional(z.string()),
  tags: z.optional(z.array(z.string())),
});

/**
 * Reads an archive whole, in pieces, and its manifest if it has one; the file stays open. `400` for what is no readable zip within the limits of
 * ADR 0010, or the archive of another artifact than `ref` (docs/protocol.md "The registry").
 */
export async function inspectArchive(opened: FileHandle, ref: ArtifactRef, maxBytes: number): Promise<ManifestFacts> {
  try {
    const file = RegularFile.of(opened, label);
    const archive = await readArchive(file, { ...archiveLimits, maxArchiveBytes: maxBytes });
    await archive.verify();
    return archive.has(manifestFile) ? await readManifest(archive, ref) : { role: null, description: null, tags: [] };
  } catch (error) {
    throw refusalOf(error);
  }
}

async function readManifest(archive: Archive, ref: ArtifactRef): Promise<ManifestFacts> {
  const source = parseYaml(manifestFile, await archive.readText(manifestFile));
  if (source.problems.length > 0) throw new DiagnosticList(source.problems);
  const parsed = manifestShape.safeParse(source.value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw badInput(
      'invalid manifest',
      `${manifestFile}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.`,
    );
  }
  const { name, version, runtime = null, description = null, tags = [] } = parsed.data;
  if (name !== ref.name || version !== ref.version) {
    const message = `Its ${manifestFile} says ${spell({ name, version })}, the query ${spell(ref)}.`;
    throw badInput('the archive is of another artifact', message);
  }
  return {
    role: runtime,
    description: description === null ? null : cut(description, longestDescription),
    tags: tags.slice(0, mostTags).map((tag) => cut(tag, longestTag)),
  };
}

/** An index is for finding an artifact; the whole text stays in the archive. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

function refusalOf(error: unknown): unknown {
  const [first] = error instanceof DiagnosticList ? error.diagnostics : [error];
  if (!(first instanceof Diagnostic) || first.code === 'E-IO-001') return error;
  if (first.code.startsWith('E-MAN-')) return badInput('invalid manifest', `${manifestFile}: ${first.message}.`);
  // A larger --max-bytes is what an operator would try first.
  const limit = first.code === 'E-ART-003' ? ' No svc would install it; --max-bytes does not change this limit.' : '';
  return badInput('invalid archive', `${first.message}.${limit}`);
}
