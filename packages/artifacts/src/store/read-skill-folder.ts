/** Reads a standard skill folder: `SKILL.md` and all files beside it. */

import { basename, dirname, extname, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { parseSkillFile, type SkillFile } from '../manifest/skill-file.ts';
import { archiveLimits, inMebibytes } from './archive-entry.ts';
import type { PackedFile } from './archive-writer.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { type FoundArtifact, standardSkillFile } from './installed-artifact.ts';
import { contentOf, foundSkill, type SkillFacts } from './skill-folder.ts';

/**
 * The skill in a folder, under the name of `ref` and, where `SKILL.md` names no version, its version. Every file is read. `E-ART-002` for a link that leads
 * out of the folder, `E-ART-003` for more than 64 MiB or a `SKILL.md` of more than 1 MiB, `E-ART-004` for one that is no skill.
 */
export async function readSkillFolder(directory: string, ref: ArtifactRef): Promise<FoundArtifact> {
  const content = await contentOf(directory);
  const { description, version, skill } = skillOfFiles(directory, content.files);
  return foundSkill(directory, {
    ref: { name: ref.name, version: version ?? ref.version },
    description,
    sha256: await content.sha256(),
    skill,
  });
}

/** What the files of a skill folder say. `E-ART-003` for a `SKILL.md` of more than 1 MiB, `E-ART-004` for files that are no skill; `where` is for messages. */
export function skillOfFiles(
  where: string,
  files: readonly PackedFile[],
): Pick<SkillFile, 'name' | 'description' | 'version'> & { readonly skill: SkillFacts['skill'] } {
  const bytes = files.find(({ name }) => name === standardSkillFile)?.data;
  if (bytes === undefined) throw new Diagnostic('E-ART-004', `${where} holds no file ${standardSkillFile}`);
  if (bytes.length > archiveLimits.maxTextBytes) {
    throw new Diagnostic('E-ART-003', `${where}/SKILL.md is larger than ${inMebibytes(archiveLimits.maxTextBytes)}`);
  }
  const whole = decodeStrictUtf8(bytes);
  if (whole === null) throw new Diagnostic('E-ART-004', `${where}/SKILL.md is not UTF-8`);
  const file = parseSkillFile(join(where, standardSkillFile), whole);
  const { name, description, version, allowed, callers, compatibility, otherFields } = file;
  const names = files.map((each) => each.name).filter((each) => each !== standardSkillFile);
  const scripts: Record<string, string> = {};
  for (const each of files) {
    const interpreter = interpreterOf(each.name, each.data);
    if (interpreter !== null) scripts[each.name] = interpreter;
  }
  const skill = { allowed, callers, compatibility, otherFields, files: names.sort(), scripts };
  return { name, description, version, skill };
}

const interpreters: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.sh': 'bash',
  '.bash': 'bash',
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.rb': 'ruby',
  '.pl': 'perl',
};

/** What runs a file: its first line says so, or a file in `scripts/` by its suffix; null for what is no script. */
function interpreterOf(name: string, data: Buffer): string | null {
  if (data.subarray(0, 2).toString('latin1') === '#!') {
    const [line = ''] = data.subarray(2, 256).toString('latin1').split('\n');
    const [program = '', ...words] = line.trim().split(/\s+/);
    const named = basename(program) === 'env' ? words.find((word) => !/^-|=/.test(word)) : program;
    return basename(named ?? '') === '' ? null : basename(named ?? '');
  }
  return dirname(name).split('/')[0] === 'scripts' ? (interpreters[extname(name)] ?? null) : null;
}
