import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import {
  encodeJsonRpcFault,
  encodeJsonRpcResult,
  EncodedJson,
  JsonRpcFault,
  parseJsonRpcRequest,
  readJsonRpcRequest,
} from './json-rpc.ts';

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

  it.each(['', '{', 'nul', '{"jsonrpc":"2.0",}', '{"id":1}{"id":2}', '\u{feff}{}'])(
    'gives a parse error for %j',
    (text) => {
      expect(faultOf(text)).toEqual({ id: null, code: -32700, message: 'Parse error' });
    },
  );

  it('gives a parse error when its bytes are not UTF-8', () => {
    const body = Buffer.from('{"jsonrpc":"2.0","id":"\xff","method":"a"}', 'latin1');
    expect(parseJsonRpcRequest(body)).toMatchObject({ id: null, fault: { code: -32700 } });
  });

  it.each(['null', '1', '"text"', '[]', '[{"jsonrpc":"2.0","id":1,"method":"a"}]', '{}'])(
    'gives an invalid request for %s',
    (text) => {
      expect(faultOf(text)).toMatchObject({ id: null, code: -32600 });
    },
  );

  it.each(['', '"id":null,', '"id":true,', '"id":{},', '"id":[1],'])(
    'gives an invalid request with the id part %j',
    (id) => {
      expect(faultOf(`{${id}"jsonrpc":"2.0","method":"a"}`)).toMatchObject({ id: null, code: -32600 });
    },
  );

  it.each(['9007199254740993', '-9007199254740993', '1e400', '1e16'])(
    'gives an invalid request with an id that cannot be echoed: %s',
    (id) => {
      expect(faultOf(`{"jsonrpc":"2.0","id":${id},"method":"a"}`)).toMatchObject({ id: null, code: -32600 });
    },
  );

  it.each(['"jsonrpc":"1.0","method":"a"', '"method":"a"', '"jsonrpc":2.0,"method":"a"', '"jsonrpc":"2.0"'])(
    'gives an invalid request that echoes the id: %s',
    (rest) => {
      expect(faultOf(`{"id":"mine",${rest}}`)).toMatchObject({ id: 'mine', code: -32600 });
    },
  );

  it.each([
    ['null', 'not an object'],
    ['1', 'not an object'],
    ['[]', 'batches are not served'],
    ['{}', 'id must be a string or a number that a double holds exactly'],
    ['{"id":1e400,"jsonrpc":"2.0","method":"a"}', 'id must be a string or a number that a double holds exactly'],
    ['{"id":1}', 'jsonrpc must be "2.0"'],
    ['{"id":1,"jsonrpc":"2.0"}', 'method must be a string'],
  ])('gets a reason when it is %s: %s', (text, why) => {
    expect(faultOf(text).message).toBe(`Invalid Request: ${why}`);
  });

  it('does not read a million nested arrays, which would hold up everything else for seconds', () => {
    const nested = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    expect(faultOf(`{"jsonrpc":"2.0","id":1,"method":"a","params":${nested}}`)).toMatchObject({ code: -32700 });
    expect(faultOf(nested)).toMatchObject({ code: -32700 });
  });

  it('gives a request or a fault for any bytes', () => {
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

describe('a body of megabytes', () => {
  const mebibyte = 1024 * 1024;
  const withParams = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"a","params":${params}}`;

  it('arrives in steps of a megabyte, whatever it holds', () => {
    for (const unit of ['a', 'mh1.', '€', '\\u0041', '{},', '[', '1']) {
      const text = withParams(`"${unit.repeat((10 * mebibyte) / unit.length)}"`);
      const reading = readJsonRpcRequest(Buffer.from(text));
      let steps = 0;
      while (reading.next().done !== true) steps += 1;
      expect([unit, steps >= 10]).toEqual([unit, true]);
    }
  });

  it('equals the same body read at once, also where a step ends within a character or an escape', () => {
    for (let shift = 0; shift < 6; shift += 1) {
      const text = `${'x'.repeat(shift)}${'€😀\\"[{,'.repeat(100_000)}`;
      const request = parse(withParams(JSON.stringify({ text })));
      expect(request).toMatchObject({ kind: 'request', params: { text } });
    }
  });

  it.each(['{},', '[],', '1,', '"",', '{"text":"a"},'])('gets refused unread when it holds a million of %s', (unit) => {
    const many = withParams(`[${unit.repeat(1_000_000)}0]`);
    expect(faultOf(many)).toEqual({
      id: null,
      code: -32600,
      message: 'Invalid Request: the body holds more than 32768 values',
    });
    const reading = readJsonRpcRequest(Buffer.from(many));
    // Not even a first step is gone through to its end.
    expect(reading.next().done).toBe(true);
  });

  it('may hold thousands of parts, and a text full of commas and brackets', () => {
    const parts = JSON.stringify(Array.from({ length: 10_000 }, () => ({ text: 'a' })));
    expect(parse(withParams(parts)).kind).toBe('request');
    expect(parse(withParams(JSON.stringify('[{,\\"'.repeat(1_000_000)))).kind).toBe('request');
  });

  it('gives a parse error when any of its bytes are not UTF-8, or it is cut within a character', () => {
    const text = withParams(JSON.stringify('a'.repeat(3 * mebibyte)));
    const broken = Buffer.from(text);
    broken[2 * mebibyte] = 0xff;
    expect(parseJsonRpcRequest(broken)).toMatchObject({ id: null, fault: { code: -32700 } });
    expect(parseJsonRpcRequest(Buffer.concat([Buffer.from(text), Buffer.from([0xe2, 0x82])]))).toMatchObject({
      fault: { code: -32700 },
    });
    expect(faultOf(`\u{feff}${text}`)).toMatchObject({ code: -32700 });
  });
});

describe('a JSON-RPC answer', () => {
  it('carries the result under the id that was sent', () => {
    expect(encodeJsonRpcResult(7, { id: 'tsk_1' })).toBe('{"jsonrpc":"2.0","id":7,"result":{"id":"tsk_1"}}');
  });

  it('carries a result that was encoded before as it is', () => {
    expect(encodeJsonRpcResult('a"', new EncodedJson({ text: '€' }))).toBe(
      '{"jsonrpc":"2.0","id":"a\\"","result":{"text":"€"}}',
    );
  });

  it('echoes every id it takes', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.maxSafeInteger(), fc.constant(1.5)), (id) => {
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
