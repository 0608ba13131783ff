/** Reads a standard skill folder: `SKILL.md` and all files beside it. */

import { basename, dirname, extname, join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { parseSkillFile } from '../manifest/skill-file.ts';
import type { ArtifactRef } from './artifact-ref.ts';
import { type FoundArtifact, standardSkillFile } from './installed-artifact.ts';
import { contentOf, foundSkill } from './skill-folder.ts';

/**
 * The skill in a folder, under the name of `ref` and, where `SKILL.md` names no version, its version. Every file is read. `E-ART-002` for a link that leads
 * out of the folder, `E-ART-003` for more than 64 MiB or a `SKILL.md` of more than 1 MiB, `E-ART-004` for one that is no skill.
 */
export async function readSkillFolder(directory: string, ref: ArtifactRef): Promise<FoundArtifact> {
  const content = await contentOf(directory);
  const bytes = await content.read(standardSkillFile);
  const whole = await content.readText(standardSkillFile);
  if (!Buffer.from(whole).equals(bytes)) throw new Diagnostic('E-ART-004', `${directory}/SKILL.md is not UTF-8`);
  const file = parseSkillFile(join(directory, standardSkillFile), whole);
  const { description, version, text, allowed, callers, compatibility, otherFields } = file;
  const names = content.files.map(({ name }) => name).filter((name) => name !== standardSkillFile);
  const scripts: Record<string, string> = {};
  for (const { name, data } of content.files) {
    const interpreter = interpreterOf(name, data);
    if (interpreter !== null) scripts[name] = interpreter;
  }
  return foundSkill(directory, {
    ref: { name: ref.name, version: version ?? ref.version },
    description,
    sha256: await content.sha256(),
    skill: { text, allowed, callers, compatibility, otherFields, files: names.sort(), scripts },
  });
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
