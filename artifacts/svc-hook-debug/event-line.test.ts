import { describe, expect, it } from 'vitest';

import { eventLine } from './event-line.ts';

describe('the line of an event', () => {
  it('holds one JSON object with its name first, spelt as on the wire', () => {
    const session = { sessionId: 'ses_1', capsule: 'demo', version: '1.0.0' };
    const task = { session, taskId: 'tsk_1', contextId: null, origin: 'user', trusted: true, attempt: 1 };
    expect(eventLine('on-task-start', { task, text: 'one\ntwo' })).toBe(
      '{"event":"on-task-start","task":{"session":{"session_id":"ses_1","capsule":"demo","version":"1.0.0"},"task_id":"tsk_1","context_id":null,"origin":"user","trusted":true,"attempt":1},"text":"one\\ntwo"}',
    );
  });

  it('cuts a long text and a long list, and says by how much', () => {
    const messages = Array.from({ length: 103 }, (_, index) => index);
    expect(eventLine('on-compaction', { messages, text: 'x'.repeat(2_005) })).toBe(
      `{"event":"on-compaction","messages":["… (3 before)",${messages.slice(3).join(',')}],"text":"${'x'.repeat(2_000)}… (5 more characters)"}`,
    );
  });

  it('holds no half of a character where a text is cut', () => {
    expect(eventLine('e', { text: `${'x'.repeat(1_999)}😀y` })).toContain('x\ufffd… (2 more characters)');
  });
});
