import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { encodeJsonRpcFault, encodeJsonRpcResult, JsonRpcFault, parseJsonRpcRequest } from './json-rpc.ts';

function parse(text: string): ReturnType<typeof parseJsonRpcRequest> {
  return parseJsonRpcRequest(Buffer.from(text));
}

function faultOf(text: string): { id: unknown; code: number; message: string } {
  const parsed = parse(text);
  if (parsed.kind !== 'fault') throw new Error('it was taken');
  return { id: parsed.id, code: parsed.fault.code, message: parsed.fault.message };
}

describe('a JSON-RPC request', () => {
  it('has jsonrpc 2.0, an id that is a number or a string, and a method [D1-SEND-02]', () => {
    const params = { message: { messageId: 'm1' } };
    expect(parse('{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"messageId":"m1"}}}')).toEqual({
      kind: 'request',
      id: 7,
      method: 'message/send',
      params,
    });
    expect(parse('{"jsonrpc":"2.0","id":"a","method":"tasks/get"}')).toEqual({
      kind: 'request',
      id: 'a',
      method: 'tasks/get',
      params: undefined,
    });
  });

  it('keeps case and whitespace of the method [D1-HTTP-07]', () => {
    expect(parse('{"jsonrpc":"2.0","id":1,"method":" Tasks/Get "}')).toMatchObject({ method: ' Tasks/Get ' });
  });

  it('ignores keys it does not know, `__proto__` among them', () => {
    const parsed = parse('{"jsonrpc":"2.0","id":1,"method":"a","x":1,"__proto__":{"params":1}}');
    expect(parsed).toEqual({ kind: 'request', id: 1, method: 'a', params: undefined });
  });

  it.each(['', '{', 'nul', '{"jsonrpc":"2.0",}', '{"id":1}{"id":2}', '\u{feff}{}'])('is a parse error: %j', (text) => {
    expect(faultOf(text)).toEqual({ id: null, code: -32700, message: 'Parse error' });
  });

  it('is a parse error when its bytes are not UTF-8', () => {
    const body = Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"a"}', 'latin1');
    expect(parseJsonRpcRequest(body)).toMatchObject({ id: null, fault: { code: -32700 } });
  });

  it.each(['null', '1', '"text"', '[]', '[{"jsonrpc":"2.0","id":1,"method":"a"}]', '{}'])('is invalid: %s', (text) => {
    expect(faultOf(text)).toMatchObject({ id: null, code: -32600 });
  });

  it.each(['', '"id":null,', '"id":true,', '"id":{},', '"id":[1],'])('is invalid with the id part %j', (id) => {
    expect(faultOf(`{${id}"jsonrpc":"2.0","method":"a"}`)).toMatchObject({ id: null, code: -32600 });
  });

  it.each(['9007199254740993', '-9007199254740993', '1e400', '1e16'])(
    'is invalid with an id that could not be echoed: %s',
    (id) => {
      expect(faultOf(`{"jsonrpc":"2.0","id":${id},"method":"a"}`)).toMatchObject({ id: null, code: -32600 });
    },
  );

  it.each(['"jsonrpc":"1.0","method":"a"', '"method":"a"', '"jsonrpc":2.0,"method":"a"', '"jsonrpc":"2.0"'])(
    'is invalid, and its id is echoed: %s',
    (rest) => {
      expect(faultOf(`{"id":"mine",${rest}}`)).toMatchObject({ id: 'mine', code: -32600 });
    },
  );

  it('does not read a million nested arrays, which would hold up everything else for seconds', () => {
    const nested = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    expect(faultOf(`{"jsonrpc":"2.0","id":1,"method":"a","params":${nested}}`)).toMatchObject({ code: -32700 });
    expect(faultOf(nested)).toMatchObject({ code: -32700 });
  });

  it('is never more than a value: any bytes give a request or a fault', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (body) => {
          expect(['request', 'fault']).toContain(parseJsonRpcRequest(body).kind);
        },
      ),
    );
  });
});

describe('a JSON-RPC answer', () => {
  it('carries the result under the id that was sent', () => {
    expect(encodeJsonRpcResult(7, { id: 'tsk_1' })).toBe('{"jsonrpc":"2.0","id":7,"result":{"id":"tsk_1"}}');
  });

  it('echoes every id it takes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.maxSafeInteger(), fc.constant(1.5)), (id) => {
        const parsed = parse(JSON.stringify({ jsonrpc: '2.0', id, method: 'a' }));
        const echoed = JSON.parse(encodeJsonRpcResult(parsed.id ?? '', null)) as { id: unknown };
        expect(echoed.id).toBe(id);
      }),
    );
  });

  it.each([
    ['parse-error', -32700, 'Parse error'],
    ['invalid-request', -32600, 'Invalid Request'],
    ['method-not-found', -32601, 'Method not found'],
    ['invalid-params', -32602, 'Invalid params'],
    ['internal-error', -32603, 'Internal error'],
    ['task-not-found', -32001, 'Task not found'],
    ['completion-refused', -32004, 'Completion refused'],
  ] as const)('carries the code and message of %s', (kind, code, message) => {
    expect(JSON.parse(encodeJsonRpcFault(null, new JsonRpcFault(kind)))).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code, message },
    });
  });

  it('carries the message of the thrower', () => {
    expect(encodeJsonRpcFault('a', new JsonRpcFault('invalid-params', 'Invalid params: id must be a string'))).toBe(
      '{"jsonrpc":"2.0","id":"a","error":{"code":-32602,"message":"Invalid params: id must be a string"}}',
    );
  });
});
