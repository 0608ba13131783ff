import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { describe, expect, it, onTestFinished } from 'vitest';

import { knows, RecordedSession, sessionId, taskId } from '../../record/test/journal/recorded-session.ts';
import { exportPage } from './export-page.ts';
import { FolderSession } from './viewed-session.ts';

const html = '<html><meta charset="utf-8"><style>a{}</style><script type="module">let a</script></html>';
const patience = { timeout: 300_000 };

interface Made {
  /** The journal is written until then. */
  readonly recorded: RecordedSession;
  /** The names of what the export has left behind. */
  readonly left: () => readonly string[];
  readonly write: (trace: readonly object[], redactor?: Redactor) => Promise<Readonly<Record<string, string>>>;
}

function made(): Made {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'svc-export-page-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const target = mkdtempSync(join(root, 'out-'));
  const recorded = new RecordedSession(root);
  const { folder } = recorded;
  const session = new FolderSession({
    id: sessionId(),
    home: folder,
    place: null,
    hold: () => HeldDirectory.at(folder),
    usualWorkdir: () => null,
  });
  const write: Made['write'] = async (trace, redactor = new Redactor()) => {
    recorded.journal.close();
    writeFileSync(join(folder, 'trace.jsonl'), trace.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const [path, page] = [join(target, 'page.html'), { html, packed: new Uint8Array() }];
    const how = { bodies: true, files: false, redactor, tell: () => {}, signal: new AbortController().signal };
    await exportPage({ session, page, path, ...how });
    return elementsOf(readFileSync(path, 'utf8'));
  };
  return { recorded, left: () => readdirSync(target), write };
}

function elementsOf(page: string): Readonly<Record<string, string>> {
  const found = page.matchAll(/ id="(svc-\w+)">([^<]*)</g);
  return Object.fromEntries(
    [...found].map(([, id = '', base64 = '']) => {
      const bytes = Buffer.from(base64, 'base64');
      return [id, (id === 'svc-facts' ? bytes : gunzipSync(bytes)).toString()];
    }),
  );
}

function linesOf(text = ''): unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

const task = taskId('1');

describe('an exported page', () => {
  it('fails where one text at many lines makes too much of it', patience, async () => {
    const { recorded, left, write } = made();
    recorded.task('Paint.').model('x'.repeat(1024 * 1024));
    const line = { event_type: 'inference', task_id: task, turn: 1, outcome: 'response' };
    await expect(write(Array.from({ length: 520 }, () => line))).rejects.toMatchObject({ code: 'E-RUN-068' });
    expect(left()).toEqual([]);
  });

  it('has what a task came to whose id is cut within a character', async () => {
    const { recorded, write } = made();
    recorded.task('Paint.').model('Blue.');
    recorded.journal.append({
      k: 'task-end',
      id: 'tsk_\ud800',
      state: 'completed',
      attempts: 1,
      turns: 1,
      result: recorded.json('Blue.'),
      message: '',
    });
    const { 'svc-answers': answers } = await write([{ event_type: 'task_end', task_id: 'tsk_\ud800' }]);
    expect(linesOf(answers)).toEqual([
      ['changes', []],
      ['result/tsk_%EF%BF%BD', { kind: 'text', text: '"Blue."', more: 0 }],
    ]);
  });

  it('can be read where a secret is what JSON is made of', async () => {
    const { recorded, write } = made();
    recorded.task('Paint.').model('It is null and true.');
    const line = { event_type: 'inference', task_id: task, turn: 1, outcome: 'response' };
    const elements = await write([line], await knows('null', 'true', 'false'));
    expect(linesOf(elements['svc-facts'])).toMatchObject([{ live: false }]);
    expect(linesOf(elements['svc-answers'])).toEqual([['changes', []]]);
    expect(linesOf(elements['svc-lines'])).toMatchObject([
      { row: 0, edit: null, parts: [{ kind: 'text', text: { text: 'It is [secret] and [secret].' } }] },
    ]);
  });
});
