import { describe, expect, it } from 'vitest';

import { framesIn, WholeFrames } from './whole-frames.ts';

const stream = [
  'event: connection-ack\ndata: {"role":"observer"}\n\n',
  ':heartbeat\n\n',
  'id: 18446744073709551615\nevent: status\ndata: {"id":"tsk_1","status":{"message":"é"}}\n\n',
  'event: usage\ndata: {"task_id":"tsk_1"}\n\n',
  'id: 0\nevent: text\ndata: {"id":"tsk_2","text":"\\n\\n"}\n\n',
];

describe('the frames of a stream', () => {
  it('come whole, wherever its bytes are cut', () => {
    const bytes = Buffer.from(stream.join(''));
    for (const length of [1, 2, 3, 7, 50, bytes.length]) {
      const frames = new WholeFrames(1000);
      const seen: string[] = [];
      for (let at = 0; at < bytes.length; at += length) {
        const whole = frames.take(bytes.subarray(at, at + length));
        for (const frame of framesIn(whole)) seen.push(frame.bytes.toString());
      }
      expect(seen).toEqual(stream);
    }
  });

  it('show their kind by what they begin with', () => {
    const known = [...framesIn(Buffer.from(stream.join('')))].map(({ event, numbered }) => [event, numbered]);
    expect(known).toEqual([
      ['connection-ack', null],
      ['', null],
      ['status', { id: '18446744073709551615', taskId: 'tsk_1' }],
      ['usage', null],
      ['text', { id: '0', taskId: 'tsk_2' }],
    ]);
  });

  it('fill a bounded memory without an end', () => {
    const frames = new WholeFrames(10);
    expect(frames.take(Buffer.from('data: 123')).length).toBe(0);
    expect(frames.isTooLong).toBe(false);
    expect(frames.take(Buffer.from('45')).length).toBe(0);
    expect(frames.isTooLong).toBe(true);
  });
});
