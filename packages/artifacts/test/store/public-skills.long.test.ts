import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { bring, collections } from '../../../../scripts/public-skills.mjs';
import { fittedName } from '../../src/manifest/names.ts';
import { readSkillFolder } from '../../src/store/read-skill-folder.ts';

function skillsBelow(folder: string): readonly string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found.filter((each) => each.name === 'SKILL.md' && each.isFile()).map((each) => each.parentPath);
}

describe('a public collection of skills', () => {
  it.for(collections)('loads whole ($name)', { timeout: 300_000 }, async (collection, context) => {
    const brought = await bring(collection);
    context.skip(brought.place === undefined, brought.lacks);
    const folders = skillsBelow(brought.place ?? '');
    const refused: string[] = [];
    for (const folder of folders) {
      const name = fittedName(basename(folder)) ?? 'skill';
      await readSkillFolder(folder, { name, version: '0.0.0' }).catch((error: unknown) => {
        refused.push(`${join(basename(dirname(folder)), basename(folder))}: ${String(error)}`);
      });
    }
    expect(refused).toEqual([]);
    expect(folders).toHaveLength(collection.skills);
  });
});
