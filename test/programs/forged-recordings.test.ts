import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packArchive } from '@svc/artifacts/store/archive-writer.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { chainedLines, forgedJournal, recordsOf } from '../support/forged-journal.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const manifest = `name: reviewer
version: 1.0.0
artifacts:
  - { name: style, version: 1.0.0, runtime: skill, source: style }
inference:
  model: scripted
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: [sh] } }
`;

const turns = script(calls([['s_1', 'style', {}]]), runs('echo fine'), says('All is fine.'));

const escape = '\u001B]0;title\u0007\u001B[2J\u202Ered';
const deep = `${'['.repeat(900)}${']'.repeat(900)}`;
const deeper = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
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

let workspace: Workspace;
let journal = '';

beforeAll(async () => {
  workspace = makeWorkspace({
    'svc.yaml': manifest,
    'script.yaml': turns,
    'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\ndescription: How.\n',
    'style/skill.md': 'Short.\n',
  });
  const ran = await svc(workspace, ['run', '--task', 'Go.', '--capture', 'content']);
  if (ran.code !== 0) throw new Error(ran.stderr);
  const sessions = join(workspace.folder, '.svc', 'sessions');
  journal = readFileSync(join(sessions, readdirSync(sessions)[0] ?? '', 'journal.jsonl'), 'utf8');
}, 60_000);

afterAll(() => workspace.remove());

/** `bodies` are long texts, by their hashes. */
async function write(
  name: string,
  forged: string,
  bodies: Readonly<Record<string, string>> = {},
  { folder } = workspace,
): Promise<void> {
  const chunks: Uint8Array[] = [];
  const files = Object.entries(bodies).map(([hash, text]) => ({ name: `bodies/${hash}`, data: Buffer.from(text) }));
  const archive = packArchive([...files, { name: 'journal.jsonl', data: Buffer.from(forged) }]);
  for await (const chunk of archive) chunks.push(chunk);
  mkdirSync(join(folder, 'tests', name), { recursive: true });
  writeFileSync(join(folder, 'tests', name, 'session.zip'), Buffer.concat(chunks));
}

/** Every text in turn as another one. */
function withOddTexts(): readonly (readonly [name: string, journal: string])[] {
  const texts = recordsOf(journal).flatMap(({ data }) => (typeof data === 'string' ? [data] : []));
  return texts.flatMap((text, index) =>
    oddTexts.map(
      (odd, at) => [`text-${index}-${at}`, forgedJournal(journal, (each) => (each === text ? odd : each))] as const,
    ),
  );
}

/** Every key of the first record of each kind as something else. */
function withOddValues(): readonly (readonly [name: string, journal: string])[] {
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

function expectNoBug({ code, stdout, stderr }: SvcEnd, what: string): void {
  expect({ what, isKnown: code === 0 || code === 1, signal: null, stderr: code === 70 ? stderr : '' }).toEqual({
    what,
    isKnown: true,
    signal: null,
    stderr: '',
  });
  // oxlint-disable-next-line eslint/no-control-regex
  expect(`${stdout}${stderr}`).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E]/);
}

describe('a forged recording', () => {
  it.each([
    ['texts', withOddTexts],
    ['values', withOddValues],
  ])(
    'with other %s than a session has is refused, fails or passes, and is never a bug',
    async (_, make) => {
      rmSync(join(workspace.folder, 'tests'), { recursive: true, force: true });
      const forged = make();
      for (const [name, text] of forged) await write(name, text);
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
    await write('real', journal);
    const inEveryText = oddTexts.slice(4).map((odd, at) => [`all-${at}`, forgedJournal(journal, () => odd)] as const);
    const named = chainedLines(recordsOf(journal).map(withEscapes));
    for (const [name, text] of [...inEveryText, ['named', named] as const]) {
      await write(name, text);
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

/** A text in the place of the first outcome of an async hook; `rest` says of it what a `body` does beside hash and size. */
function withOutcome(recorded: string, text: string, rest: object): string {
  const sha256 = sha256Hex(text);
  const records = recordsOf(recorded);
  const at = records.findIndex(({ k, e }) => k === 'end' && String(e).startsWith('session/h-on-session-start/'));
  const body = { n: 0, k: 'body', sha256, bytes: Buffer.byteLength(text), ...rest };
  return chainedLines([...records.slice(0, at), body, { ...records[at], value: sha256 }, ...records.slice(at + 1)]);
}

describe('a recording of an async hook', () => {
  let watched: Workspace;
  let recorded = '';

  beforeAll(async () => {
    const artifacts = 'artifacts:\n  - { name: svc-hook-debug, version: 1.0.0, runtime: hook }\n';
    watched = makeWorkspace({
      'svc.yaml': manifest.replace(/artifacts:\n.*\n/, artifacts),
      'script.yaml': script(runs('echo fine'), says('All is fine.')),
    });
    const ran = await svc(watched, ['run', '--task', 'Go.', '--capture', 'content']);
    const kept = await svc(watched, ['test', '--record', 'good']);
    if (ran.code !== 0 || kept.code !== 0) throw new Error(`${ran.stderr}${kept.stderr}`);
    const sessions = join(watched.folder, '.svc', 'sessions');
    recorded = readFileSync(join(sessions, readdirSync(sessions)[0] ?? '', 'journal.jsonl'), 'utf8');
  }, 60_000);

  afterAll(() => watched.remove());

  const many = `[${'[],'.repeat(4.2 * 1024 * 1024)}[]]`;
  it.each<[string, string, object, Readonly<Record<string, string>>, RegExp]>([
    ['answered nothing', 'null', { data: 'null' }, {}, /holds what no session has met/],
    ['answered more than there is memory for', many, { file: true }, { [sha256Hex(many)]: many }, /more values than/],
  ])('that %s fails, and the others still run', async (_, text, rest, bodies, why) => {
    await write('bad', withOutcome(recorded, text, rest), bodies, watched);
    const tested = await svc(watched, ['test']);
    expect(tested.stdout).toMatch(/^ok +good$/m);
    expect(tested).toMatchObject({ code: 1 });
    expect(`${tested.stdout}${tested.stderr}`).toMatch(why);
    expect(`${tested.stdout}${tested.stderr}`).toContain('E-RUN-078');
    const replayed = await svc(watched, ['run', '--replay', 'tests/bad/session.zip']);
    expect(replayed).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-078]') });
    expect(replayed.stderr).toMatch(why);
  });
});

/** Texts that are not hashes, places or words of the format, as something that a terminal would act on. */
function withEscapes(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const odd: Record<string, unknown> = { ...record };
  for (const key of ['name', 'svc', 'node', 'stop', 'message', 'reason', 'ctx', 'principal', 'traceparent'])
    if (typeof odd[key] === 'string') odd[key] = escape;
  if (odd['k'] === 'open') odd['capsule'] = { name: escape, version: escape };
  if (Array.isArray(odd['calls'])) odd['calls'] = [escape];
  return odd;
}

describe('a trace that commands have written to', () => {
  it('appears in the list without acting on a terminal, whatever its lines say', async () => {
    const id = `ses_${'f'.repeat(32)}`;
    const odd = { toString: 1, valueOf: 1 };
    const lines = [
      { event_type: 'session_start', timestamp: 1, capsule: null },
      { event_type: 'session_start', timestamp: 1, capsule: { name: escape, version: escape } },
      { event_type: 'task_received', text: escape },
      { event_type: 'inference', usage: { input_tokens: odd, output_tokens: escape } },
      { event_type: 'inference', usage: { input_tokens: 1e308, output_tokens: 1e308 } },
      { event_type: 'inference', usage: 7 },
      { event_type: 'session_end', status: odd },
    ].map((line) => JSON.stringify(line));
    const text = [...lines, deeper, '{"event_type":"session_end","status":', '{"event_type":"session_end"', 'null'];
    workspace.write(`.svc/sessions/${id}/trace.jsonl`, `${text.join('\n')}\n`);
    for (const args of [
      ['trace', 'list'],
      ['trace', 'list', '--json'],
      ['sessions'],
      ['sessions', '--json'],
      ['tasks', id],
      ['trace', 'steps', id],
    ]) {
      expectNoBug(await svc(workspace, args), args.join(' '));
    }
    expect((await svc(workspace, ['trace', 'list'])).stdout).toContain('…ffff');
    rmSync(join(workspace.folder, '.svc', 'sessions', id), { recursive: true });
  });

  it('parts a replay, and is no bug there', async () => {
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const trace = join(sessions, readdirSync(sessions)[0] ?? '', 'trace.jsonl');
    const whole = readFileSync(trace, 'utf8');
    for (const line of [{ event_type: { toString: 1 } }, { event_type: escape }]) {
      writeFileSync(trace, `${JSON.stringify(line)}\n${whole}`);
      const ended = await svc(workspace, ['run', '--replay']);
      expectNoBug(ended, JSON.stringify(line));
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('E-RUN-079') });
    }
    writeFileSync(trace, `{"event_type":"task_start","x":${deeper}}\n${whole}`);
    expectNoBug(await svc(workspace, ['run', '--replay']), 'deep');
    writeFileSync(trace, whole);
  });
});
