/** Takes an artifact into a project from a folder beside it, as an entry with `source`. */

import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

import { parseAnyManifest } from '@svc/artifacts/manifest/artifact-manifest.ts';
import type { ArtifactRow } from '@svc/artifacts/manifest/edit-artifacts.ts';
import { fittedName } from '@svc/artifacts/manifest/names.ts';
import { parseSkillFile } from '@svc/artifacts/manifest/skill-file.ts';
import { standardSkillFile } from '@svc/artifacts/store/installed-artifact.ts';
import { isSkillFolder } from '@svc/artifacts/store/skill-folder.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { readSmallText, unreadableFile } from '@svc/kit/files/read-text.ts';
import { addEntry } from './project-change.ts';
import type { OpenedProject } from './opened-project.ts';

/** `svc add` of an absolute path. `E-ART-008` for a folder that holds no artifact, or one with the name of an entry. */
export async function addFolder(folder: string, opened: OpenedProject): Promise<void> {
  const found = manifestOf(folder);
  const { name } = found;
  if (opened.listed.some((entry) => entry.name === name)) {
    throw new Diagnostic('E-ART-008', `the manifest lists ${name} already, and nothing was written`, {
      hint: `change source of its entry there, or svc remove ${name} first`,
    });
  }
  await addEntry(rowOf(found, folder, opened), opened);
}

/** The entry of an artifact in a folder, which names it as seen from the manifest. */
export function rowOf({ name, version, runtime }: FoundEntry, folder: string, { request }: OpenedProject): ArtifactRow {
  const below = relative(request.manifestDir, folder);
  const source = below.startsWith('..') ? below : `./${below}`;
  return { name, version, ...(runtime === 'tool' ? {} : { runtime }), source };
}

type FoundEntry = Pick<ArtifactRow, 'name' | 'version'> & {
  readonly runtime: 'tool' | NonNullable<ArtifactRow['runtime']>;
};

function manifestOf(folder: string): FoundEntry {
  if (isSkillFolder(folder)) return skillOf(folder);
  const file = join(folder, 'svc.yaml');
  const reading = readSmallText(file);
  if (reading.kind === 'unreadable') throw new DiagnosticList([unreadableFile(file, reading)]);
  const read = reading.kind === 'text' ? parseAnyManifest(reading.text, file) : null;
  if (read?.kind === 'artifact') return read.manifest;
  const lacks = existsSync(folder)
    ? 'there is none of svc.yaml, SKILL.md and plugin.json in it'
    : 'there is no such folder';
  const why = read === null ? lacks : 'its svc.yaml is that of a capsule';
  throw new Diagnostic('E-ART-008', `${JSON.stringify(folder)} holds no artifact that can be listed: ${why}`, {
    hint: 'name the folder of a tool, driver, hook or skill; svc new tool <name> makes one',
  });
}

/** A standard skill under the name that its file has, or else its folder, made to fit. `E-ART-008` where nothing of them fits. */
export function skillOf(folder: string): FoundEntry {
  const file = join(folder, standardSkillFile);
  const reading = readSmallText(file);
  if (reading.kind === 'unreadable') throw new DiagnosticList([unreadableFile(file, reading)]);
  const { name, version } = parseSkillFile(file, reading.kind === 'text' ? reading.text : '');
  const fitted = fittedName(name ?? basename(folder)) ?? fittedName(basename(folder));
  if (fitted !== null) return { name: fitted, version: version ?? '0.0.0', runtime: 'skill' };
  throw new Diagnostic('E-ART-008', `${JSON.stringify(folder)} has no name that an artifact may have`, {
    hint: 'list it in artifacts by hand, with name, version: 0.0.0, runtime: skill and source',
  });
}
