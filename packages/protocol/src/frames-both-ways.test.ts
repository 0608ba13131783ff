import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { context, count, optional, task, text } from '../test/both-ways.ts';
import { type DecodedFrame, decodeFrame } from './decode-frame.ts';
import { FrameReader } from './frame-reader.ts';
import {
  type ConnectionFrame,
  type NumberedFrame,
  encodeConnectionFrame,
  encodeNumberedFrame,
  maxEventId,
  rejectedMessage,
} from './frames.ts';

describe('a frame', () => {
  const taskId = { taskId: task };
  const numbered: fc.Arbitrary<[NumberedFrame, DecodedFrame]> = fc.oneof(
    fc
      .record({
        ...taskId,
        event: fc.constant('status' as const),
        state: fc.constantFrom('working' as const, 'completed' as const, 'failed' as const, 'canceled' as const),
        message: text,
        final: fc.boolean(),
        response: optional,
      })
      .map(({ response, ...frame }): [NumberedFrame, DecodedFrame] => [
        response === null ? frame : { ...frame, response },
        { ...frame, contextId: null, response },
      ]),
    fc
      .record({
        ...taskId,
        event: fc.constant('status' as const),
        contextId: context,
        state: fc.constantFrom('input-required' as const, 'working' as const, 'failed' as const),
        message: text,
        final: fc.constant(false as const),
      })
      .map((frame): [NumberedFrame, DecodedFrame] => [frame, { ...frame, response: null }]),
    fc
      .record({
        ...taskId,
        event: fc.constant('artifact' as const),
        toolName: text,
        content: text,
        fenceSource: optional,
        toolCallId: optional,
        isError: fc.boolean(),
        durationMs: fc.option(count),
        exitCode: fc.option(fc.integer()),
        truncated: fc.boolean(),
      })
      .map((frame): [NumberedFrame, DecodedFrame] => [frame, frame]),
    fc
      .record({ ...taskId, event: fc.constant('text' as const), text, final: fc.boolean() })
      .map((frame): [NumberedFrame, DecodedFrame] => [frame, frame]),
    fc
      .record({ ...taskId, event: fc.constant('thinking' as const), text })
      .map((frame): [NumberedFrame, DecodedFrame] => [frame, { ...frame, final: false }]),
  );

  it('with an id says what was written, under its id', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, maxEventId), numbered, (id, [frame, decoded]) => {
        const [received] = new FrameReader().read(Buffer.from(encodeNumberedFrame(id, frame)));
        expect(received?.id).toBe(String(id));
        expect(received === undefined ? null : decodeFrame(received)).toEqual(decoded);
      }),
    );
  });

  it('says what a connection wrote', () => {
    const line = text.map((each) => each.replaceAll(/[\r\n]/g, ''));
    const frames: fc.Arbitrary<[ConnectionFrame, DecodedFrame]> = fc.oneof(
      task.map((id): [ConnectionFrame, DecodedFrame] => [
        { event: 'rejected', taskId: id },
        {
          event: 'status',
          taskId: id,
          contextId: null,
          state: 'rejected',
          message: rejectedMessage,
          response: null,
          final: true,
        },
      ]),
      fc.bigInt(0n, maxEventId).map((id): [ConnectionFrame, DecodedFrame] => {
        const frame = { event: 'gap' as const, firstAvailableId: id };
        return [frame, frame];
      }),
      fc.constantFrom('stateless' as const, 'threaded' as const).map((mode): [ConnectionFrame, DecodedFrame] => {
        const frame = { event: 'connection-ack' as const, conversationMode: mode };
        return [frame, frame];
      }),
      fc.constant<[ConnectionFrame, DecodedFrame]>([{ event: 'capsule-closed' }, { event: 'capsule-closed' }]),
      // Its text is inserted without escaping: what is JSON then reads as such.
      line
        .filter((each) => JSON.stringify(each) === `"${each}"`)
        .map((error): [ConnectionFrame, DecodedFrame] => [
          { event: 'error', error },
          { event: 'error', error },
        ]),
    );
    fc.assert(
      fc.property(frames, ([frame, decoded]) => {
        const [received] = new FrameReader().read(Buffer.from(encodeConnectionFrame(frame)));
        expect(received === undefined ? null : decodeFrame(received)).toEqual(decoded);
      }),
    );
  });

  it.each([
    [
      'event: status\ndata: {"status":{"state":"later","x":1}}\n\n',
      { event: 'status', taskId: '', contextId: null, state: 'later', message: '', response: null, final: false },
    ],
    [
      'event: artifact\ndata: {"artifact":{"content":"c","exit_code":1.5,"is_error":1,"duration_ms":"2"}}\n\n',
      {
        event: 'artifact',
        taskId: '',
        toolName: '',
        content: 'c',
        fenceSource: null,
        toolCallId: null,
        isError: false,
        durationMs: null,
        exitCode: null,
        truncated: false,
      },
    ],
    ['event: text\ndata: {}\n\n', { event: 'text', taskId: '', text: '', final: false }],
    ['event: connection-ack\ndata: 5\n\n', { event: 'connection-ack', conversationMode: '' }],
    ['event: status\ndata: {"status":{"state":5}}\n\n', null],
    ['event: artifact\ndata: {"artifact":{}}\n\n', null],
    ['event: text\ndata: []\n\n', null],
    ['event: later\ndata: {}\n\n', null],
  ])('%j of a later version says %j', (written, decoded) => {
    const [received] = new FrameReader().read(Buffer.from(written));
    expect(received === undefined ? undefined : decodeFrame(received)).toEqual(decoded);
  });
});
