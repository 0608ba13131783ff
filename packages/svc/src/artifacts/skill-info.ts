/** Shows a standard skill folder: what its list allows, its files, and the programs that its scripts need. */

import { resolve } from 'node:path';

import type { SkillCallers } from '@svc/artifacts/manifest/skill-file.ts';
import { readSkillFolder } from '@svc/artifacts/store/read-skill-folder.ts';
import { isSkillFolder } from '@svc/artifacts/store/skill-folder.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { skillOf } from './add-folder.ts';

/** Rows name this many files. */
const mostFiles = 20;

const calledBy: Readonly<Record<SkillCallers, string>> = {
  all: '',
  people: 'people alone, as /name (disable-model-invocation)',
  model: 'the model alone (user-invocable)',
  nobody: 'nobody (disable-model-invocation, user-invocable)',
};

/** `svc info ./<folder>`. `E-ART-008` for a folder without `SKILL.md`, and what is wrong with one that is no good skill. */
export async function showSkill(
  path: string,
  options: { readonly json?: boolean },
  { cwd, stdout }: CommandContext,
): Promise<void> {
  const folder = resolve(cwd, path);
  if (!isSkillFolder(folder)) {
    throw new Diagnostic('E-ART-008', `${quoted(path)} is no folder with SKILL.md`, {
      hint: 'name a skill by its folder, and any other artifact by <name>@<version>; svc add <plugin> --dry-run shows what a plugin has',
    });
  }
  const { manifest, sha256, skill } = await readSkillFolder(folder, skillOf(folder));
  const { name, version, description } = manifest;
  const {
    allowed = null,
    scripts = {},
    files = [],
    compatibility = null,
    otherFields = [],
    callers = 'all',
  } = skill ?? {};
  if (options.json === true) {
    const about = { allowed_tools: allowed, scripts, files, compatibility, other_fields: otherFields };
    stdout.write(jsonLine({ name, version, kind: 'skill', description, ...about, sha256 }));
    return;
  }
  const rest = files.length - mostFiles;
  const rows: readonly (readonly [title: string, value: string])[] = [
    ['artifact', `${name}@${version}`],
    ['kind', 'skill'],
    ['sha256', sha256],
    ['description', description],
    ['allows', allowed?.join(', ') ?? 'all that the capsule grants, without allowed-tools'],
    ...Object.entries(scripts).map(([file, program]) => ['script', `${file}, which ${program} runs`] as const),
    ['files', [...files.slice(0, mostFiles), ...(rest > 0 ? [`${rest} more`] : [])].join(', ')],
    ['needs', compatibility ?? ''],
    ['not used', [...otherFields].join(', ')],
    ['called by', calledBy[callers]],
  ];
  for (const [title, value] of rows) if (value !== '') stdout.write(say`${title.padEnd(11)}  ${value}\n`);
}
