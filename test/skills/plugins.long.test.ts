import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { bring, collections } from '../../scripts/public-skills.mjs';
import { useCapsules } from '../support/capsule-folders.ts';
import { svc } from '../support/svc-process.ts';

/** How many plugins each has, with the one of them that has neither skills nor servers for svc. */
const published = [
  { name: 'obra/superpowers', plugins: 1, empty: [] },
  { name: 'trailofbits/skills', plugins: 42, empty: ['insecure-defaults'] },
];
const capsule = useCapsules();

describe('svc add of public plugins', () => {
  it.for(published)('lists each skill of theirs ($name)', { timeout: 300_000 }, async ({ name, ...they }, context) => {
    const collection = collections.find((each) => each.name === name);
    if (collection === undefined) throw new Error(`${name} is no collection`);
    const { place = '', lacks } = await bring(collection);
    context.skip(place === '', lacks);
    const below = join(place, 'plugins');
    const folders = existsSync(below) ? readdirSync(below).map((each) => join(below, each)) : [place];
    const plugins = folders.filter((folder) => existsSync(join(folder, '.claude-plugin/plugin.json')));
    expect(plugins).toHaveLength(they.plugins);
    const workspace = capsule({ manifest: '' });
    const file = join(workspace.folder, 'svc.yaml');
    const empty = readFileSync(file, 'utf8');
    const refused: string[] = [];
    for (const plugin of plugins) {
      writeFileSync(file, empty);
      const { code, stderr } = await svc(workspace, ['add', plugin]);
      const skills = existsSync(join(plugin, 'skills')) ? readdirSync(join(plugin, 'skills')) : [];
      if (code !== 0) refused.push(`${basename(plugin)}: ${stderr.split('\n', 1)[0] ?? ''}`);
      else expect(readFileSync(file, 'utf8').match(/runtime: skill/g)).toHaveLength(skills.length);
    }
    expect(refused).toEqual(
      they.empty.map((each) => expect.stringContaining(`${each}: error[E-ART-008]: the plugin in `) as string),
    );
  });
});
