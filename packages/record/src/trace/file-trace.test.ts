import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { openFileTrace } from './file-trace.ts';
import { readTrace } from '../../../../test/support/read-trace.ts';
import type { Trace } from './events.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let folder = '';

eachFolder('svc-trace-', (made) => {
  folder = made;
});

const sessionId = 'ses_00000000000000000000000000000001' as SessionId;

function open(secret = ''): Trace {
  const redactor = new Redactor();
  redactor.register(new Secret(secret));
  const redact = (text: string): string => redactor.redact(text);
  return openFileTrace({ path: join(folder, 'trace.jsonl'), sessionId, ids: new FakeClock(), redact });
}

const start = { event_type: 'task_start', task_id: 'tsk_null', attempt: 1 } as const;

const whoever = { origin: 'message', trust: 'untrusted', lane: 'foreground' } as const;

describe('a trace file', () => {
  it('belongs to the owner alone and holds one line an event, the common keys first', () => {
    const trace = open();
    const id = trace.write(start, null);
    trace.write({ event_type: 'task_canceled', task_id: 'tsk_1', queued: true }, id);
    trace.close();
    expect(statSync(join(folder, 'trace.jsonl')).mode & 0o777).toBe(0o600);
    expect(readTrace(join(folder, 'trace.jsonl'))).toEqual([
      {
        event_type: 'task_start',
        event_id: id,
        parent_id: null,
        session_id: sessionId,
        timestamp: 1_760_000_000_000,
        task_id: 'tsk_null',
        attempt: 1,
      },
      expect.objectContaining({ event_type: 'task_canceled', parent_id: id }),
    ]);
  });

  it.each([
    ['as it was written', '', '"arguments":{"ids":[1152921504606846977],"n":7}'],
    ['rounded, for its digits are a secret', '1152921504606846977', '"arguments":{"ids":[1152921504606847000],"n":7}'],
  ])('holds a number among the arguments of a call %s', (_, secret, held) => {
    const trace = open(secret);
    const call = { task_id: 'tsk_1', turn: 1, tool_call_id: null, is_error: false, duration_ms: 0 };
    const args = { arguments: { ids: [2 ** 60], n: 7 }, digits: { '/ids/0': '1152921504606846977' } };
    const rest = { tool_name: 'find', tool_kind: 'mcp', exit_code: null, truncated: false, content_bytes: 0 } as const;
    trace.write({ event_type: 'tool_call', ...call, ...rest, ...args }, null);
    trace.close();
    const line = readFileSync(join(folder, 'trace.jsonl'), 'utf8');
    expect(line).toContain(held);
    expect(line).not.toContain('digits');
  });

  it('never starts over in a file that is there', () => {
    open().close();
    expect(() => open()).toThrow('cannot be written');
  });

  it('keeps secrets out of what an event brought, and stays JSON whatever the secret is', () => {
    const trace = open('null');
    const text = 'the key is null, really null';
    trace.write(start, null);
    trace.write(
      {
        event_type: 'tool_call',
        task_id: 'tsk_null',
        turn: 1,
        tool_call_id: null,
        arguments: { null: text },
        is_error: false,
        duration_ms: 1,
        tool_name: 't',
        tool_kind: 'wasm',
        exit_code: null,
        truncated: false,
        content_bytes: 0,
      },
      null,
    );
    trace.close();
    const [first, second] = readTrace(join(folder, 'trace.jsonl'));
    expect(first).toMatchObject({ parent_id: null, task_id: 'tsk_null' });
    expect(second).toMatchObject({
      task_id: 'tsk_null',
      exit_code: null,
      arguments: { '[secret]': 'the key is [secret], really [secret]' },
    });
  });

  it('keeps secrets out of the name that a sender gave a context, and leaves an id of its own alone', () => {
    const trace = open('ctx_');
    const received = { event_type: 'task_received', task_id: 'tsk_1', text: '', ...whoever } as const;
    trace.write({ ...received, context_id: 'my ctx_ of ctx_' }, null);
    trace.write({ ...received, context_id: 'ctx_0123456789abcdef0123456789abcdef' }, null);
    trace.close();
    expect(readTrace(join(folder, 'trace.jsonl')).map((line) => line['context_id'])).toEqual([
      'my [secret] of [secret]',
      'ctx_0123456789abcdef0123456789abcdef',
    ]);
  });

  it('writes a text that was prepared as it writes any other', async () => {
    const trace = open('hidden word');
    for (const text of ['a "hidden word" of 世界\n', '']) {
      const received = {
        event_type: 'task_received',
        task_id: 'tsk_1',
        context_id: 'hidden words',
        ...whoever,
      } as const;
      trace.write({ ...received, text }, null);
      trace.write({ ...received, text }, null, await trace.prepare(text));
    }
    trace.close();
    const [whole, prepared, ...empty] = readTrace(join(folder, 'trace.jsonl')).map(
      ({ event_id: _id, timestamp: _at, ...rest }) => rest,
    );
    expect(whole).toMatchObject({ text: 'a "[secret]" of 世界\n', context_id: '[secret]s' });
    expect(prepared).toEqual(whole);
    expect(empty).toEqual([
      { ...whole, text: '' },
      { ...whole, text: '' },
    ]);
  });

  it('takes nothing once it is closed', () => {
    const trace = open();
    trace.close();
    trace.close();
    expect(() => trace.write(start, null)).toThrow('is closed: the session has ended');
    expect(readFileSync(join(folder, 'trace.jsonl'), 'utf8')).toBe('');
  });

  it('reads no line from a tail without its end', () => {
    expect(() => readTrace(join(folder, 'none.jsonl'))).toThrow('ENOENT');
  });
});
