import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { parseSkillFile, splitAllowed } from '@svc/artifacts/manifest/skill-file.ts';
import { readSkillFolder } from '@svc/artifacts/store/read-skill-folder.ts';
import { bring, collections } from '../../scripts/public-skills.mjs';
import { pythonWith } from '../support/python-program.ts';

const reference = 'skills-ref==0.1.1';
const program = fileURLToPath(new URL('read-by-reference.py', import.meta.url));

/** What the reference implementation says of one folder. */
interface Verdict {
  readonly folder: string;
  readonly is_valid: boolean;
  /** The fields of the head; null where it cannot read them. */
  readonly read: Readonly<Record<string, unknown>> | null;
}

type Reader = Awaited<ReturnType<typeof pythonWith>>;

async function verdictsOn(folder: string, read: Reader): Promise<readonly Verdict[]> {
  const lines = (await read(program, folder)).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Verdict);
}

async function isTaken(folder: string): Promise<boolean> {
  return await readSkillFolder(folder, { name: 'x', version: '0.0.0' }).then(
    () => true,
    () => false,
  );
}

/** The fields of a head as the reference implementation has them, in the words of `svc`; all that it reads as text. */
function inOurWords({ name, description, compatibility, ...others }: Readonly<Record<string, unknown>>): object {
  const list = others['allowed-tools'];
  const words =
    typeof list === 'string' ? splitAllowed(list) : Array.isArray(list) ? (list as string[]).flatMap(splitAllowed) : [];
  return {
    name,
    description,
    compatibility: typeof compatibility === 'string' ? compatibility.trim().replaceAll(/\s+/g, ' ') : null,
    allowed: words.length === 0 ? null : words,
  };
}

function ours(folder: string): object {
  const { name, description, compatibility, allowed } = parseSkillFile(
    folder,
    readFileSync(join(folder, 'SKILL.md'), 'utf8'),
  );
  return { name, description, compatibility, allowed };
}

/** A head, whether the reference implementation calls the skill valid and can read it, and whether svc takes it. */
const heads: readonly [name: string, head: string, valid: boolean, read: boolean, taken: boolean][] = [
  ['plain', 'name: plain\ndescription: Does it.', true, true, true],
  [
    'whole',
    'name: whole\ndescription: d\nlicense: MIT\ncompatibility: Needs git\nmetadata:\n  version: "1.0"\nallowed-tools: Read Bash(git:*)',
    true,
    true,
    true,
  ],
  ['quoted', 'name: "quoted"\ndescription: \'it: does\'', true, true, true],
  ['folded', 'name: folded\ndescription: >\n  one\n  two', true, true, true],
  ['numbers', 'name: numbers\ndescription: 12', true, true, true],
  ['long-text', `name: long-text\ndescription: ${'a'.repeat(1024)}`, true, true, true],
  // The reference wants more of a name and of a length than a model needs.
  ['longer', `name: longer\ndescription: ${'a'.repeat(1025)}`, false, true, true],
  ['Upper', 'name: Upper\ndescription: d', false, true, true],
  ['other', 'name: another\ndescription: d', false, true, true],
  ['under_score', 'name: under_score\ndescription: d', false, true, true],
  ['unknown', 'name: unknown\ndescription: d\nmodel: x', false, true, true],
  ['nameless', 'description: d', false, false, true],
  // It reads a strict part of YAML.
  ['flow', 'name: flow\ndescription: d\nallowed-tools: [Read, Grep]', false, false, true],
  ['colon', 'name: colon\ndescription: Use when: always', false, false, true],
  // Neither takes these.
  ['bare', 'name: bare', false, false, false],
  ['blank', 'name: blank\ndescription: ""', false, false, false],
  ['nested', 'name: nested\ndescription:\n  a: b', false, false, false],
  ['broken', 'name: broken\ndescription: "d', false, false, false],
  ['list', '- name', false, false, false],
];

describe('the reference implementation of Agent Skills (skipped without python3 and its package)', () => {
  it('takes no skill that svc does not take, and says the same of each', { timeout: 300_000 }, async (context) => {
    const read = await pythonWith(context, reference);
    const folder = mkdtempSync(join(tmpdir(), 'svc-heads-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const [name, head] of heads) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'SKILL.md'), `---\n${head}\n---\nText.\n`);
    }
    const verdicts = new Map((await verdictsOn(folder, read)).map((verdict) => [basename(verdict.folder), verdict]));
    for (const [name, , valid, isRead, taken] of heads) {
      const verdict = verdicts.get(name);
      const at = join(folder, name);
      expect([name, verdict?.is_valid, verdict?.read !== null, await isTaken(at)]).toEqual([
        name,
        valid,
        isRead,
        taken,
      ]);
      if (verdict?.read != null) expect(ours(at)).toEqual(inOurWords(verdict.read));
    }
  });

  it.for(collections)(
    'reads no field of $name otherwise than svc',
    { timeout: 300_000 },
    async (collection, context) => {
      const { place, lacks } = await bring(collection);
      context.skip(place === undefined, lacks);
      const read = await pythonWith(context, reference);
      const verdicts = await verdictsOn(place ?? '', read);
      expect(verdicts).toHaveLength(collection.skills);
      for (const { folder, read: fields } of verdicts) {
        expect([folder, await isTaken(folder)]).toEqual([folder, true]);
        if (fields !== null) expect(ours(folder)).toEqual(inOurWords(fields));
      }
    },
  );
});
