import { describe, expect, it } from 'vitest';

import { inProcessorTime } from '../../../../../test/support/processor-time.ts';
import { contentOf } from './call-content.ts';

function shown(content: readonly unknown[], structuredContent?: unknown): string {
  return contentOf({
    content: [...content],
    isError: false,
    ...(structuredContent === undefined ? {} : { structuredContent }),
  });
}

describe('the text of a result', () => {
  it('joins its texts, a block a paragraph', () => {
    expect(
      shown([
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two\nthree' },
      ]),
    ).toBe('one\ntwo\nthree');
  });

  it('says in a moment how long an image is, whatever was written for it', () => {
    const image = { type: 'image', data: `${'='.repeat(160_000)}A`, mimeType: 'image/png' };
    const { value, ms } = inProcessorTime(() => shown([image]));
    expect(value).toBe('[image, image/png, 120000 bytes: not shown]');
    expect(ms).toBeLessThan(1000);
  });

  it('stays empty when the result has none', () => {
    expect(shown([])).toBe('');
  });

  it.each([
    ['an image', { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }, '[image, image/png, 5 bytes: not shown]'],
    ['audio', { type: 'audio', data: 'aGVsbG8h', mimeType: 'audio/wav' }, '[audio, audio/wav, 6 bytes: not shown]'],
    ['a link', { type: 'resource_link', uri: 'file:///a', name: 'A' }, '[link to the resource file:///a, A]'],
    [
      'a resource that is text',
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'hello' } },
      '[resource file:///a]\nhello',
    ],
    [
      'a resource that is none',
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'image/png', blob: 'aGVsbG8=' } },
      '[resource file:///a, image/png, 5 bytes: not shown]',
    ],
    ['a block of another kind', { type: 'video', data: 'x' }, '[content of a kind that is not known]'],
    ['a text that is none', { type: 'text', text: 7 }, '[content of a kind that is not known]'],
    ['no block', null, '[content of a kind that is not known]'],
  ])('names %s', (_, block, expected) => {
    expect(shown([block])).toBe(expected);
  });

  it('ends with structured content', () => {
    expect(shown([{ type: 'text', text: 'Found 2.' }], { found: [1, 2] })).toBe('Found 2.\n{"found":[1,2]}');
    expect(shown([], { found: [] })).toBe('{"found":[]}');
  });

  it('does not repeat structured content that a text is', () => {
    const text = '{ "b": 2,\n "a": [1] }';
    expect(shown([{ type: 'text', text }], { a: [1], b: 2 })).toBe(text);
  });
});
