import { expect, it } from 'vitest';

import { recordedJson, RecordedValues } from './recorded-json.ts';

it('RecordedValues parses a text once, however often it is asked for', () => {
  const values = new RecordedValues();
  const first = values.of('a', () => '{"x":[1]}');
  const again = values.of('a', () => {
    throw new Error('it is asked for again');
  });
  expect(first).toEqual({ kind: 'json', value: { x: [1] } });
  expect(again).toBe(first);
});

it('RecordedValues takes as many values as it was given in all its texts together', () => {
  const values = new RecordedValues(6);
  expect(values.of('a', () => '[1,2]').kind).toBe('json');
  expect(values.of('b', () => '[1,2]').kind).toBe('json');
  expect(values.of('c', () => '7')).toEqual({ kind: 'too-many' });
  expect(values.of('a', () => '').kind).toBe('json');
});

it('RecordedValues does not count what it does not parse', () => {
  const values = new RecordedValues(3);
  expect(values.of('deep', () => '['.repeat(1001) + ']'.repeat(1001)).kind).toBe('too-deep');
  expect(values.of('many', () => '[1,2,3,4]')).toEqual({ kind: 'too-many' });
  expect(values.of('few', () => '[1,2]')).toEqual({ kind: 'json', value: [1, 2] });
});

it('recordedJson parses no text that alone holds more values than there is memory for', () => {
  expect(recordedJson('[[],[]]')).toEqual({ kind: 'json', value: [[], []] });
  expect(recordedJson(`[${'[],'.repeat(4.2 * 1024 * 1024)}[]]`)).toEqual({ kind: 'too-many' });
});
