import { expect, it } from 'vitest';

import { jsonText } from './shown.ts';

it.each(['\u061C', '\u00AD', '\u202E', '\u200B', '\u{E0041}', '\uFFFA'])(
  'JSON shows %j as an escape and stays the same value',
  (mark) => {
    const { text } = jsonText(JSON.stringify({ said: `a${mark}b` }));
    expect(text).toMatch(/^[ -~]*\n$/);
    expect(JSON.parse(text)).toEqual({ said: `a${mark}b` });
  },
);
