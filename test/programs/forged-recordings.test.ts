import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { chainedLines, recordsOf } from '../support/forged-journal.ts';
import {
  deeper,
  describeForgedRecordings,
  escape,
  expectNoBug,
  journalOf,
  manifest,
  useRecordedProject,
  writeRecording,
} from '../support/forged-recordings.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

describeForgedRecordings(5);

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
    recorded = journalOf(watched);
  }, 60_000);

  afterAll(() => watched.remove());

  const many = `[${'[],'.repeat(4.2 * 1024 * 1024)}[]]`;
  it.each<[string, string, object, Readonly<Record<string, string>>, RegExp]>([
    // It depends on what came between which of these is met first.
    [
      'answered nothing',
      'null',
      { data: 'null' },
      {},
      /holds what no session has met|was not (?:looked at|asked for) again/,
    ],
    ['answered more than there is memory for', many, { file: true }, { [sha256Hex(many)]: many }, /more values than/],
  ])('fails when it %s, and the others still run', async (_, text, rest, bodies, why) => {
    await writeRecording(watched, 'bad', withOutcome(recorded, text, rest), bodies);
    const tested = await svc(watched, ['test']);
    expect(tested.stdout).toMatch(/^ok +good$/m);
    expect(tested).toMatchObject({ code: 1 });
    expect(`${tested.stdout}${tested.stderr}`).toMatch(why);
    // A look that is missing is a difference, and damage has its code.
    expect(`${tested.stdout}${tested.stderr}`).toMatch(/E-RUN-078|^bad differs /m);
    const replayed = await svc(watched, ['run', '--replay', 'tests/bad/session.zip']);
    expect(replayed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error\[E-RUN-07[89]\]/m) });
    expect(replayed.stderr).toMatch(why);
  });
});

describe('a trace that commands have written to', () => {
  const project = useRecordedProject();

  it('appears in the list without acting on a terminal, whatever its lines say', async () => {
    const { workspace } = project();
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
    const { workspace } = project();
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
