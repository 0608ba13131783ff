/** Brings public collections of skills into ~/.cache, each at one commit, and prints the folder: tests read them, and the repository holds none of them. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** With how many SKILL.md each has. */
export const collections = [
  { name: 'anthropics/skills', commit: '9d2f1ae187231d8199c64b5b762e1bdf2244733d', skills: 18 },
  { name: 'trailofbits/skills', commit: '293fb74c3151cceda32a85a545fe8acd67f8f5c6', skills: 80 },
  { name: 'obra/superpowers', commit: '44c9b2d6e889982ac18c27d05a19fefe335194e1', skills: 14 },
  { name: 'openai/skills', commit: 'f6b8344b4e519f964d8884d6f60b57991f3f4993', skills: 10 },
  { name: 'vercel-labs/agent-skills', commit: 'b9c8ee0643d87d3c5a953d1e22382ff2ead39229', skills: 7 },
];

/** The folder of a collection, or the reason, in a sentence, why it cannot be had here. */
export async function bring({ name, commit }, cache = join(homedir(), '.cache', 'svc-public-skills')) {
  const place = join(cache, `${name.replace('/', '-')}-${commit.slice(0, 12)}`);
  if (existsSync(place)) return { place };
  const answer = await fetch(`https://codeload.github.com/${name}/tar.gz/${commit}`, {
    signal: AbortSignal.timeout(60_000),
  }).catch(() => null);
  if (answer?.ok !== true) return { lacks: `needs ${name} of github.com, which cannot be reached from here` };
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(join(cache, 'new-'));
  try {
    const archive = join(made, 'archive.tar.gz');
    writeFileSync(archive, Buffer.from(await answer.arrayBuffer()));
    mkdirSync(join(made, 'files'));
    const { status } = spawnSync('tar', ['-xzf', archive, '-C', join(made, 'files'), '--strip-components=1']);
    if (status !== 0) return { lacks: `needs tar, which could not unpack ${name}` };
    renameSync(join(made, 'files'), place);
    return { place };
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  for (const collection of collections) {
    const { place, lacks } = await bring(collection);
    console.log(`${collection.name}: ${place ?? lacks}`);
  }
}
