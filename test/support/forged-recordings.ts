/** Forges recordings of a session: each text and value as something else that no session has. */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packArchive } from '@svc/artifacts/store/archive-writer.ts';
import { chainedLines, forgedJournal, recordsOf } from './forged-journal.ts';
import { calls, runs, says, script } from './scripted-turns.ts';
import { svc, type SvcEnd } from './svc-process.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** The manifest of a reviewer whose recorded session is forged. */
export const manifest = `name: reviewer
version: 1.0.0
artifacts:
  - { name: style, version: 1.0.0, runtime: skill, source: style }
inference:
  model: scripted
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: [sh] } }
`;

const turns = script(calls([['s_1', 'style', {}]]), runs('echo fine'), says('All is fine.'));

/** What a terminal would act on. */
export const escape = '\u001B]0;title\u0007\u001B[2J\u202Ered';
const deep = `${'['.repeat(900)}${']'.repeat(900)}`;
/** Deeper than a parser may follow. */
export const deeper = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
/** In the place of a text. */
const oddTexts = [
  'null',
  '7',
  '1e308',
  '"x"',
  '[]',
  '[null]',
  '[[1,2],["text"]]',
  '{}',
  '{"__proto__":1,"toString":1,"valueOf":1}',
  `{"kind":"response","response":{"content":[null],"usage":${deep}}}`,
  JSON.stringify({ name: escape, role: escape, content: [{ type: 'text', text: escape }], [escape]: escape }),
  deep,
  deeper,
  'no JSON',
];
/** In the place of a value. */
const oddValues: readonly unknown[] = [
  null,
  -1,
  1e308,
  Number.MAX_SAFE_INTEGER,
  '',
  escape,
  [],
  [escape],
  {},
  { toString: 1 },
  true,
];

/** A project and the journal of its one session. */
export interface RecordedProject {
  readonly workspace: Workspace;
  readonly journal: string;
}

/** A project for the tests of a file, with a session that ran once. */
export function useRecordedProject(): () => RecordedProject {
  let project: RecordedProject | null = null;
  beforeAll(async () => {
    const workspace = makeWorkspace({
      'svc.yaml': manifest,
      'script.yaml': turns,
      'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\ndescription: How.\n',
      'style/skill.md': 'Short.\n',
    });
    const ran = await svc(workspace, ['run', '--task', 'Go.', '--capture', 'content']);
    if (ran.code !== 0) throw new Error(ran.stderr);
    project = { workspace, journal: journalOf(workspace) };
  }, 60_000);
  afterAll(() => project?.workspace.remove());
  return () => {
    if (project === null) throw new Error('the session did not run');
    return project;
  };
}

/** The journal of the session of a workspace. */
export function journalOf({ folder }: Workspace): string {
  const sessions = join(folder, '.svc', 'sessions');
  return readFileSync(join(sessions, readdirSync(sessions)[0] ?? '', 'journal.jsonl'), 'utf8');
}

/** Keeps a forged recording as a test of the project; `bodies` are long texts, by their hashes. */
export async function writeRecording(
  { folder }: Workspace,
  name: string,
  forged: string,
  bodies: Readonly<Record<string, string>> = {},
): Promise<void> {
  const chunks: Uint8Array[] = [];
  const files = Object.entries(bodies).map(([hash, text]) => ({ name: `bodies/${hash}`, data: Buffer.from(text) }));
  const archive = packArchive([...files, { name: 'journal.jsonl', data: Buffer.from(forged) }]);
  for await (const chunk of archive) chunks.push(chunk);
  mkdirSync(join(folder, 'tests', name), { recursive: true });
  writeFileSync(join(folder, 'tests', name, 'session.zip'), Buffer.concat(chunks));
}

/** Every text in turn as another one. */
function withOddTexts(journal: string): readonly (readonly [name: string, journal: string])[] {
  const texts = recordsOf(journal).flatMap(({ data }) => (typeof data === 'string' ? [data] : []));
  return texts.flatMap((text, index) =>
    oddTexts.map(
      (odd, at) => [`text-${index}-${at}`, forgedJournal(journal, (each) => (each === text ? odd : each))] as const,
    ),
  );
}

/** Every key of the first record of each kind as something else. */
function withOddValues(journal: string): readonly (readonly [name: string, journal: string])[] {
  const records = recordsOf(journal);
  const firsts = records.filter(({ k }, index) => records.findIndex((each) => each['k'] === k) === index);
  return firsts.flatMap((record) =>
    Object.keys(record)
      .filter((key) => key !== 'n' && key !== 'k')
      .flatMap((key) =>
        oddValues.map((odd, at) => {
          const forged = records.map((each) => (each === record ? Object.assign({}, each, { [key]: odd }) : each));
          return [`value-${String(record['k'])}-${key}-${at}`, chainedLines(forged)] as const;
        }),
      ),
  );
}

/** It ended as a command does that refuses, fails or passes, and printed nothing that a terminal would act on. */
export function expectNoBug({ code, stdout, stderr }: SvcEnd, what: string): void {
  expect({ what, isKnown: code === 0 || code === 1, signal: null, stderr: code === 70 ? stderr : '' }).toEqual({
    what,
    isKnown: true,
    signal: null,
    stderr: '',
  });
  // oxlint-disable-next-line eslint/no-control-regex
  expect(`${stdout}${stderr}`).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E]/);
}

/** Tests of recordings with one text or value in the place of another. Each `every`th of them is tried: 5 still tries each odd text and value somewhere. */
export function describeForgedRecordings(every: number): void {
  const recorded = useRecordedProject();
  const some = <T>(all: readonly T[]): readonly T[] => all.filter((_, index) => index % every === 0);
  describe('a forged recording', () => {
    it.each([
      ['texts', withOddTexts],
      ['values', withOddValues],
    ])(
      'with other %s than a session has is refused, fails or passes, and is never a bug',
      async (_, make) => {
        const { workspace, journal } = recorded();
        rmSync(join(workspace.folder, 'tests'), { recursive: true, force: true });
        const forged = some(make(journal));
        for (const [name, text] of forged) await writeRecording(workspace, name, text);
        const ended = await svc(workspace, ['test', '--json', '--junit', 'report.xml']);
        expectNoBug(ended, ended.stdout.split('\n').at(-2) ?? '');
        const rows = ended.stdout.split('\n').slice(0, -1);
        expect(rows).toHaveLength(forged.length + 1);
        expectNoBug(await svc(workspace, ['test']), 'rows for people');
        const report = readFileSync(join(workspace.folder, 'report.xml'), 'utf8');
        // oxlint-disable-next-line eslint/no-control-regex
        expect(report).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F]/);
      },
      240_000,
    );

    it('can be shown, compared and run again without acting on a terminal, and is never a bug', async () => {
      const { workspace, journal } = recorded();
      await writeRecording(workspace, 'real', journal);
      const texts = some(oddTexts.slice(4).toReversed());
      const inEveryText = texts.map((odd, at) => [`all-${at}`, forgedJournal(journal, () => odd)] as const);
      const named = chainedLines(recordsOf(journal).map(withEscapes));
      for (const [name, text] of [...inEveryText, ['named', named] as const]) {
        await writeRecording(workspace, name, text);
        const zip = `tests/${name}/session.zip`;
        for (const args of [
          ['trace', 'steps', zip],
          ['trace', 'show', zip],
          ['trace', 'show', `./${zip}#1`],
          ['trace', 'show', `./${zip}#2`, '--json'],
          ['trace', 'diff', zip, 'tests/real/session.zip'],
          ['trace', 'diff', zip],
          ['run', '--replay', zip],
        ]) {
          expectNoBug(await svc(workspace, args), args.join(' '));
        }
      }
      const shown = await svc(workspace, ['trace', 'steps', 'tests/named/session.zip']);
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('red') });
    }, 240_000);
  });
}

/** Texts that are not hashes, places or words of the format, as something that a terminal would act on. */
function withEscapes(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const odd: Record<string, unknown> = { ...record };
  for (const key of ['name', 'svc', 'node', 'stop', 'message', 'reason', 'ctx', 'principal', 'traceparent'])
    if (typeof odd[key] === 'string') odd[key] = escape;
  if (odd['k'] === 'open') odd['capsule'] = { name: escape, version: escape };
  if (Array.isArray(odd['calls'])) odd['calls'] = [escape];
  return odd;
}
