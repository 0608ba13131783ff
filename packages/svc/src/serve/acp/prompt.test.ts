import { describe, expect, it } from 'vitest';

import { parsePrompt } from './prompt.ts';

describe('a prompt', () => {
  it('becomes its texts, links and embedded texts, one below the other', () => {
    const blocks = [
      { type: 'text', text: 'Mend this.' },
      { type: 'resource_link', name: 'cart.ts', uri: 'file:///p/cart.ts' },
      { type: 'resource', resource: { uri: 'file:///p/a.txt', text: 'one\ntwo' } },
    ];
    expect(parsePrompt(blocks)).toEqual({
      text: 'Mend this.\n[cart.ts](file:///p/cart.ts)\nfile:///p/a.txt\none\ntwo',
      blocks,
    });
  });

  it.each([
    ['no list', 'x', 'prompt must be a list of content blocks'],
    ['empty', [], 'prompt must have 1 to 1024 content blocks'],
    [
      'long',
      Array.from({ length: 1025 }, () => ({ type: 'text', text: '' })),
      'prompt must have 1 to 1024 content blocks',
    ],
    ['no block', [null], 'prompt[0] must be a content block'],
    ['of no type', [{ text: 'x' }], 'prompt[0] must be a content block'],
    [
      'an image',
      [
        { type: 'text', text: 'x' },
        { type: 'image', data: '' },
      ],
      'prompt[1]: content of this type is not taken',
    ],
    ['audio', [{ type: 'audio', data: '' }], 'prompt[0]: content of this type is not taken'],
    ['a number', [{ type: 'text', text: 1 }], 'prompt[0].text must be a string'],
    ['a link without a name', [{ type: 'resource_link', uri: 'a' }], 'prompt[0].name must be a string'],
    [
      'a blob',
      [{ type: 'resource', resource: { uri: 'a', blob: '' } }],
      'prompt[0]: of embedded resources only texts are taken',
    ],
  ])('fails where it is %s', (_what, given, message) => {
    expect(() => parsePrompt(given)).toThrow(expect.objectContaining({ code: -32_602, message }));
  });
});
