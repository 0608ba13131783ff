import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { discoverSkills, skillsOn } from '../../src/store/discovered-skills.ts';
import { emptyPlaces } from './artifacts.ts';

function shelf(): string {
  const directory = mkdtempSync(join(tmpdir(), 'shelf-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

function put(directory: string, name: string, text: string): void {
  mkdirSync(join(directory, name));
  writeFileSync(join(directory, name, 'SKILL.md'), text);
}

describe('a shelf of skills', () => {
  it('gives its skills in the order of their names', () => {
    const directory = shelf();
    for (const name of ['b', 'c', 'a']) put(directory, name, '');
    expect(skillsOn([{ directory: join(directory, 'none'), within: null }])).toEqual([]);
    expect(skillsOn([{ directory, within: null }])).toEqual(['a', 'b', 'c'].map((name) => join(directory, name)));
  });

  it('says of each that is left out what can be done', async () => {
    const directory = shelf();
    put(directory, 'broken', 'no head');
    const { skills, warnings } = await discoverSkills([{ directory, within: null }], new Set(), emptyPlaces());
    expect(skills).toEqual([]);
    expect(warnings).toMatchObject([{ code: 'W-RUN-211', hint: expect.stringContaining('svc info ./<folder>') }]);
  });
});
