import { expect, it } from 'vitest';

import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { runSync } from '@svc/kit/yield-to-loop.ts';
import { JournalReader } from '@svc/record/journal/journal-reader.ts';
import { RecordedSession, taskId } from '../../record/test/journal/recorded-session.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';
import { traceFromJournal } from './trace-from-journal.ts';

let folder = '';
eachFolder('svc-made-', (made) => {
  folder = made;
});

it('a trace that is made of a journal has all digits of the numbers in arguments', () => {
  const { journal, folder: directory } = new RecordedSession(folder).task('Find it.');
  const body = (text: string): string => runSync(journal.body(text));
  const e = `${taskId('1')}/1/m1`;
  const [asked, plain] = ['{"ids":[1234567890123456789]}', '{"id":1e400}'];
  const call = (input: string): string => `{"type":"tool_call","id":"c","name":"find","input":${input}}`;
  const content = `[{"type":"text","text":"x"},${call(asked)},${call(plain)}]`;
  const value = body(`{"kind":"response","response":{"content":${content},"stopReason":"tool_call"}}`);
  journal.append({ k: 'start', e, port: 'model', name: 'm', fixed: body('{}'), base: null, add: [] });
  journal.append({ k: 'end', e, ms: 1, value, stop: 'tool_call', calls: ['find', 'other'] });
  journal.append({ k: 'start', e: `${e}/t1`, port: 'tool', name: 'find', in: body(asked) });
  journal.append({ k: 'end', e: `${e}/t1`, ms: 1, value: body('{}') });
  journal.append({
    k: 'task-end',
    id: taskId('1'),
    state: 'completed',
    attempts: 1,
    turns: 1,
    result: null,
    message: 'Done.',
  });
  journal.close();
  const held = HeldDirectory.open(directory);
  const reader = JournalReader.open(held, null);
  const lines = reader === null ? [] : [...traceFromJournal(reader)].map((line) => line.toString());
  reader?.close();
  held.close();
  const given = lines.flatMap((line) => /"event_type":"tool_call".*"arguments":(.*?\})/.exec(line)?.[1] ?? []);
  expect(given).toEqual([asked, plain]);
});
