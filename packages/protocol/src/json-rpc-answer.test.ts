import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, text } from '../test/both-ways.ts';
import {
  JsonRpcFault,
  decodeJsonRpcAnswer,
  encodeJsonRpcFault,
  encodeJsonRpcRequest,
  encodeJsonRpcResult,
  parseJsonRpcRequest,
} from './json-rpc.ts';

describe('a call', () => {
  const id = fc.oneof(text, fc.maxSafeInteger());

  it('arrives as it was made', () => {
    expect(encodeJsonRpcRequest(1, 'tasks/get', { id: 't' })).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t"}}',
    );
    bothWays(fc.record({ id, method: text, params: text }), (call) => {
      const { kind, ...read } = parseJsonRpcRequest(
        Buffer.from(encodeJsonRpcRequest(call.id, call.method, call.params)),
      ) as { kind: string };
      expect(kind).toBe('request');
      return read;
    });
  });

  it('takes its result or its fault as the answer', () => {
    bothWays(text, (result) => {
      const answer = decodeJsonRpcAnswer(JSON.parse(encodeJsonRpcResult(1, result)));
      return answer?.kind === 'result' ? answer.result : answer;
    });
    fc.assert(
      fc.property(text, (message) => {
        const fault = encodeJsonRpcFault(null, new JsonRpcFault('task-not-found', message));
        expect(decodeJsonRpcAnswer(JSON.parse(fault))).toEqual({ kind: 'error', code: -32001, message });
      }),
    );
  });

  it.each([null, 5, [], {}, { result: 1 }, { jsonrpc: '2.0' }, { jsonrpc: '2.0', error: 'no' }])(
    'takes no answer from %j',
    (answer) => expect(decodeJsonRpcAnswer(answer)).toBeNull(),
  );
});
