import { describe, expect, it } from 'vitest';

import {
  anyBodyExcept,
  extraHeaders,
  numberBetween,
  readDriverConfig,
  texts,
  withExtraBody,
  withExtraHeaders,
} from './driver-config.ts';

const keys = {
  temperature: numberBetween(0, 2),
  stop: texts,
  headers: extraHeaders,
  extra_body: anyBodyExcept(['model']),
};
const read = (config: unknown): unknown => readDriverConfig(JSON.stringify(config), keys);

describe('the configuration of a driver', () => {
  it('is read when every key is known and right', () => {
    const config = { temperature: 0.5, stop: ['END'], headers: { 'X-Team': 'a' }, extra_body: { seed: 1 } };
    expect(read(config)).toEqual(config);
  });

  it.each([
    [
      { temprature: 1 },
      'inference.driver.config.temprature is not known; the keys are extra_body, headers, stop, temperature',
    ],
    [
      { toString: 1 },
      'inference.driver.config.toString is not known; the keys are extra_body, headers, stop, temperature',
    ],
    [{ temperature: '1' }, 'inference.driver.config.temperature must be a number from 0 to 2'],
    [{ temperature: null }, 'inference.driver.config.temperature must be a number from 0 to 2'],
    [{ stop: [''] }, 'inference.driver.config.stop must be a text or a list of texts, none of them empty'],
    [{ extra_body: { model: 'x' } }, 'inference.driver.config.extra_body must be a mapping without model'],
    [[], 'inference.driver.config must be a mapping'],
  ])('refuses %j', (config, message) => {
    expect(() => read(config)).toThrow(message);
  });

  it.each([
    { Authorization: 'x' },
    { 'X-Api-Key': 'x' },
    { Host: 'x' },
    { 'bad name': 'x' },
    { a: 'x\r\nb: y' },
    { a: 1 },
  ])('refuses the headers %j', (headers) => {
    expect(() => read({ headers })).toThrow('inference.driver.config.headers must be a mapping of header names');
  });
});

describe('what is laid over a request', () => {
  it('replaces keys of the body, and null takes one out', () => {
    expect(withExtraBody({ a: 1, b: 2, c: undefined }, { b: null, d: 4 })).toEqual({ a: 1, d: 4 });
  });

  it('replaces headers whatever their case', () => {
    expect(
      withExtraHeaders(
        [
          ['accept', 'x'],
          ['a-b', '1'],
        ],
        { 'A-B': '2' },
      ),
    ).toEqual([
      ['accept', 'x'],
      ['a-b', '2'],
    ]);
  });
});
