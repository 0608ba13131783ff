import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { InstalledPackage } from '../support/installed-package.ts';

const readme = readFileSync(new URL('../../packages/record/README.md', import.meta.url), 'utf8');
const svc = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const manifest = `name: demo
version: 1.0.0
inference: { model: scripted, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }
capabilities: { shell: { allow: [echo] } }
`;
const script = `- content: [{ type: tool_call, id: c1, name: echo, input: { command: hello } }]
  stop_reason: tool_call
- content: [{ type: text, text: Said. }]
  stop_reason: end_turn
`;

describe('the package @svc/record, installed from its tarball', { timeout: 120_000 }, () => {
  let installed: InstalledPackage;
  const at = (path: string): string => join(installed.folder, path);
  const env = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], HOME: at('home') });
  let id: string;
  beforeAll(async () => {
    installed = await InstalledPackage.install('record');
    mkdirSync(at('home'));
    installed.write('svc.yaml', manifest);
    installed.write('script.yaml', script);
    const run = [svc, 'run', '--task', 'Say hello.'];
    await promisify(execFile)(process.execPath, run, { cwd: installed.folder, env: env() });
    [id = ''] = readdirSync(at('.svc/sessions'));
  }, 120_000);
  afterAll(() => installed.remove());

  it('passes publint and "are the types wrong"', async () => {
    expect(await installed.problems()).toBe('');
  });

  it('brings the licences of what is in it, and needs zod and the protocol alone', () => {
    expect(readdirSync(at('node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@svc', 'zod']);
    expect(readdirSync(at('node_modules/@svc'))).toEqual(['protocol', 'record']);
    const files = readdirSync(at('node_modules/@svc/record'), { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES', 'dist/index.js']));
  });

  it('reads a session as its README shows', async () => {
    const [, program = ''] = /```ts\n([^]*?)```/.exec(readme) ?? [];
    expect(await installed.printedBy(program, [], env())).toMatch(
      new RegExp(`^${id} demo ok \\d+\nasked: Say hello.\nran: echo 0\nanswered: tsk_ Said.\n$`),
    );
  });

  it('finds a session by the end of its id, and reads all records and the texts that they name', async () => {
    const program = `
      import { findSession, openSession, type JournalRecord, type TraceLine } from '@svc/record';

      const found = findSession(process.argv[2] ?? '');
      const session = await openSession(found);
      const records: JournalRecord[] = [...session.records()];
      const types: TraceLine['event_type'][] = [...session.events()].map(({ event_type: type }) => type);
      const [open] = session.records(['open']);
      const [task] = session.records(['task']);
      const text = session.body(task?.text ?? '');
      console.log(found, open?.capsule.name, records.at(-1)?.k, types.at(0), types.at(-1));
      console.log(text.kind === 'text' && text.text, session.body('0'.repeat(64)).kind);
      session.close();
    `;
    expect(await installed.printedBy(program, [id.slice(-6)], env())).toBe(
      `${id} demo close session_start session_end\nSay hello. damaged\n`,
    );
  });

  it('says with codes what is missing, damaged or foreign, and passes over lines that are not of a trace', async () => {
    const damagedFolder = at('damaged');
    cpSync(at(`.svc/sessions/${id}`), damagedFolder, { recursive: true });
    writeFileSync(at('no.zip'), 'no archive');
    const journal = join(damagedFolder, 'journal.jsonl');
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('"k":"task-end"', '"k":"task-End"'));
    appendFileSync(join(damagedFolder, 'trace.jsonl'), 'no JSON\n{"event_type":"task_start"}\n');
    const program = `
      import { findSession, isRecordError, listSessions, openSession } from '@svc/record';

      const codes: string[] = [];
      const note = (error: unknown): void => {
        if (!isRecordError(error)) throw error;
        codes.push(error.code);
      };
      const of = async (work: () => unknown): Promise<void> => {
        try {
          await work();
        } catch (error) {
          note(error);
        }
      };
      await of(() => findSession('ffffffff'));
      await of(() => findSession('abc'));
      await of(() => openSession('./gone'));
      await of(() => openSession('no.zip'));
      using session = await openSession('./damaged', { onWarning: note });
      let records = 0;
      await of(() => {
        for (const _record of session.records()) records += 1;
      });
      const events = [...session.events()];
      console.log(codes.join(), records > 5, events.at(-1)?.event_type, listSessions({ manifest: 'other/svc.yaml' }));
    `;
    expect(await installed.printedBy(program, [], env())).toMatch(
      /^E-RUN-070,E-RUN-070,E-RUN-070,E-\w+-\d+,E-RUN-073,W-RUN-173 true session_end \[\]\n$/,
    );
  });
});
