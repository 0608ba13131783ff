import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { chainedLines, forgedJournal, recordsOf } from '../support/forged-journal.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

type Fields = Readonly<Record<string, unknown>>;

let workspace: Workspace;
let [journal, trace] = ['', ''];

beforeAll(async () => {
  workspace = scriptCapsule({
    manifest: 'trace: { capture: content }\ncapabilities: { shell: { allow: [sh] } }\n',
    script: script(runs('echo one'), says('Done.')),
  });
  const ran = await svc(workspace, ['run', '--task', 'Go.']);
  if (ran.code !== 0) throw new Error(ran.stderr);
  const sessions = join(workspace.folder, '.svc', 'sessions');
  const [session = ''] = readdirSync(sessions);
  journal = readFileSync(join(sessions, session, 'journal.jsonl'), 'utf8');
  trace = readFileSync(join(sessions, session, 'trace.jsonl'), 'utf8');
});

afterAll(() => workspace.remove());

/** The verdict of a folder with this journal and trace, and nothing else. */
async function verdictOf(recording: { journal: string; trace?: string }): Promise<Fields> {
  const folder = mkdtempSync(join(workspace.folder, 'other-'));
  writeFileSync(join(folder, 'journal.jsonl'), recording.journal);
  if (recording.trace !== undefined) writeFileSync(join(folder, 'trace.jsonl'), recording.trace);
  const { code, stdout, stderr } = await svc(workspace, ['run', '--replay', folder, '--json']);
  const [refusal = null] = /E-[A-Z]+-\d+/.exec(stderr) ?? [];
  const { session: _, steps: __, ...verdict } = JSON.parse(stdout) as Fields;
  return { code, refusal, ...verdict };
}

function firstLines(text: string, count: number): string {
  return text
    .split('\n')
    .slice(0, count)
    .map((line) => `${line}\n`)
    .join('');
}

function kindsOf(text: string): readonly unknown[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as Fields)['k']);
}

/** The journal with other records, tied together anew. */
function forged(change: (records: readonly Fields[]) => readonly Fields[]): string {
  return chainedLines(change(recordsOf(journal)));
}

function changed(kind: string, keys: Fields): string {
  return forged((records) => records.map((record) => (record['k'] === kind ? { ...record, ...keys } : record)));
}

/** Puts records in before the last one. */
function put(count: number, record: (index: number) => Fields): string {
  return forged((records) => [
    ...records.slice(0, -1),
    ...Array.from({ length: count }, (_, index) => record(index)),
    ...records.slice(-1),
  ]);
}

function firstOf(kind: string): Fields {
  return recordsOf(journal).find(({ k }) => k === kind) ?? {};
}

describe('the recording of a session that was killed', () => {
  it('stays the same so far, whichever of its records was the last', async () => {
    const kinds = kindsOf(journal);
    const [first, last] = [kinds.indexOf('setup') + 1, kinds.indexOf('close')];
    expect(last).toBe(kinds.length - 1);
    for (let count = first; count <= last; count += 1) {
      const cut = firstLines(journal, count);
      expect(await verdictOf({ journal: cut }), `cut after ${count}: ${String(kinds[count - 1])}`).toMatchObject({
        code: 0,
        refusal: null,
        outcome: 'cut-off',
      });
    }
    expect(await verdictOf({ journal, trace })).toEqual({ code: 0, refusal: null, outcome: 'same' });
  }, 60_000);

  it('names what the session would ask for next', async () => {
    const kinds = kindsOf(journal);
    const task = String(firstOf('task')['id']);
    expect(await verdictOf({ journal: firstLines(journal, kinds.indexOf('task') + 1) })).toMatchObject({
      outcome: 'cut-off',
      place: `${task}/1/m1`,
    });
    expect(await verdictOf({ journal: firstLines(journal, kinds.indexOf('end') + 1) })).toMatchObject({
      outcome: 'cut-off',
      place: `${task}/1/m1/t1`,
    });
  });

  it('stays the same so far whether its trace or its journal has more of it', async () => {
    const lines = trace.split('\n').length - 1;
    const open = firstLines(journal, kindsOf(journal).indexOf('close'));
    for (let count = 1; count <= lines; count += 1) {
      expect(await verdictOf({ journal: open, trace: firstLines(trace, count) }), `${count} lines`).toMatchObject({
        code: 0,
        outcome: 'cut-off',
      });
    }
    const early = firstLines(journal, kindsOf(journal).indexOf('end') + 1);
    expect(await verdictOf({ journal: early, trace })).toMatchObject({ code: 0, outcome: 'cut-off' });
  }, 60_000);

  it('parts where something before its last record is not as it was', async () => {
    const upTo = (text: string, kind: string): string => firstLines(text, kindsOf(text).lastIndexOf(kind) + 1);
    const asked = upTo(journal, 'start');
    const otherAnswer = forgedJournal(asked, (text) =>
      text.startsWith('{"role":"tool"') ? text.replace('one', 'two') : text,
    );
    expect(await verdictOf({ journal: otherAnswer })).toMatchObject({
      code: 1,
      refusal: 'E-RUN-079',
      outcome: 'parted',
      path: '/messages/2/content/0/text',
    });
    const records = recordsOf(asked);
    const calls = records.findIndex((record) => record['port'] === 'shell');
    const lost = chainedLines(records.toSpliced(calls, 1));
    expect(await verdictOf({ journal: lost })).toMatchObject({ code: 1, outcome: 'parted', port: 'shell' });
    const shell = records[calls] ?? {};
    const ghost = chainedLines([...records, { ...shell, e: `${String(shell['e'])}/ghost`, name: 'rm' }]);
    expect(await verdictOf({ journal: ghost })).toMatchObject({
      code: 1,
      outcome: 'parted',
      place: `${String(shell['e'])}/ghost`,
      problem: 'was not asked for again',
    });
    const otherLine = trace.replace('"command_name":"sh"', '"command_name":"rm"');
    expect(otherLine).not.toBe(trace);
    expect(await verdictOf({ journal: asked, trace: otherLine })).toMatchObject({
      code: 1,
      outcome: 'parted',
      path: '/command_name',
      recorded: 'rm',
      now: 'sh',
    });
  }, 30_000);
});

describe('a recording with records that its session does not meet', () => {
  const shell = (): Fields => recordsOf(journal).find((record) => record['port'] === 'shell') ?? {};
  const task = (): string => String(firstOf('task')['id']);

  it.each<readonly [what: string, forge: () => string, problem: Fields]>([
    [
      'a step that has no end',
      () => put(1, () => ({ ...shell(), e: `${task()}/1/m9/t1`, name: 'rm' })),
      { port: 'shell', problem: 'was not asked for again' },
    ],
    [
      'thousands of them',
      () => {
        const step = shell();
        return put(4_000, (index) => ({ ...step, e: `${String(step['e'])}/${index}`, name: 'rm' }));
      },
      { port: 'shell', problem: 'was not asked for again' },
    ],
    ['a step twice', () => put(1, shell), { port: 'shell', problem: 'is in the recording twice' }],
    [
      'what a component was answered, of no step',
      () => put(1, () => ({ n: 0, k: 'io', e: `${task()}/1/m9/t1`, instance: 1, value: null })),
      { problem: 'was not asked for' },
    ],
    [
      'a look at what is not usual',
      () => put(1, () => ({ n: 0, k: 'look', e: `${task()}/history.7`, value: null, found: true })),
      { port: 'look', problem: 'was not looked at again' },
    ],
    [
      'tasks that never began',
      () => {
        const first = firstOf('task');
        return put(100_000, (index) => ({ ...first, id: `tsk_${index}` }));
      },
      { port: 'task', place: 'tsk_0' },
    ],
    [
      'an answer that nobody asked for',
      () =>
        put(1, () => ({
          n: 0,
          k: 'in',
          at: 1,
          what: 'answer',
          task: task(),
          question: 'q1',
          text: firstOf('task')['text'],
        })),
      { port: 'answer' },
    ],
    [
      'a task that failed',
      () => changed('task-end', { state: 'failed' }),
      { port: 'task-end', path: '/state', recorded: 'failed', now: 'completed' },
    ],
    [
      'a task of more turns',
      () => changed('task-end', { turns: 7 }),
      { port: 'task-end', path: '/turns', recorded: 7, now: 2 },
    ],
    [
      'a task with another result',
      () => changed('task-end', { result: firstOf('task')['text'] }),
      { port: 'task-end', path: '/result', recorded: 'Go.', now: 'Done.' },
    ],
    [
      'no end of its task',
      () => forged((records) => records.filter(({ k }) => k !== 'task-end')),
      { port: 'task-end', problem: 'ends, and does not in the recording' },
    ],
    [
      'the end of its task twice',
      () => put(1, () => firstOf('task-end')),
      { port: 'task-end', problem: 'has not ended again' },
    ],
    [
      'another status at its end',
      () => changed('close', { status: 'failed' }),
      { place: 'session', port: 'close', path: '/status', recorded: 'failed', now: 'ok' },
    ],
    [
      'another reason at its end',
      () => changed('close', { reason: 'the disk is full' }),
      { place: 'session', port: 'close', path: '/reason', recorded: 'the disk is full', now: null },
    ],
    [
      'records after its end',
      () => forged((records) => [...records, firstOf('close')]),
      { port: 'close', problem: 'is not the last record' },
    ],
    [
      'an answer that is said to have called something else',
      () =>
        forged((records) =>
          records.map((record) => (record['calls'] === undefined ? record : { ...record, calls: ['rm'] })),
        ),
      { port: 'end', path: '/calls/0', recorded: 'rm', now: 'sh' },
    ],
    [
      'a command that is said to have failed',
      () =>
        forged((records) => records.map((record) => (record['exit'] === undefined ? record : { ...record, exit: 1 }))),
      { port: 'end', path: '/exit', recorded: 1, now: 0 },
    ],
    [
      'an end while its session still waits',
      () => {
        const records = recordsOf(journal);
        const cut = records.findLastIndex(({ k }) => k === 'start') + 1;
        return chainedLines([...records.slice(0, cut), ...records.slice(-1)]);
      },
      { port: 'close', problem: 'is not over, as the recording says that it was' },
    ],
  ])('parts: %s', async (_what, forge, problem) => {
    expect(await verdictOf({ journal: forge() })).toMatchObject({
      code: 1,
      refusal: 'E-RUN-079',
      outcome: 'parted',
      ...problem,
    });
  });
});
