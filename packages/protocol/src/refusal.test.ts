import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, text, wired } from '../test/both-ways.ts';
import { decodeRefusal, encodeRefusal } from './refusal.ts';
import { decodeResourceRefusal, resourceRefusals } from './resource-refusals.ts';

describe('a refusal', () => {
  it('reads as it was written', () => {
    bothWays(fc.record({ error: text, message: fc.string({ minLength: 1 }) }), (each) =>
      decodeRefusal(wired(encodeRefusal(each))),
    );
    expect(encodeRefusal({ error: 'session not found', message: '' })).toEqual({ error: 'session not found' });
    expect(decodeRefusal({ error: 1 })).toEqual({ error: null, message: null });
    expect(decodeRefusal([])).toBeNull();
  });

  it('names one of the codes of a plane', () => {
    for (const code of Object.keys(resourceRefusals)) expect(decodeResourceRefusal(code)).toBe(code);
    for (const other of ['later', 'toString', '', null]) expect(decodeResourceRefusal(other)).toBeNull();
  });
});
