import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { KeyWatch } from './key-watch.ts';

const key = 'ghp_/Ab+9="\\x_Zz01';
const bytes = Buffer.from(key);
const escaped = [...bytes].map((byte) => `\\u00${byte.toString(16).padStart(2, '0')}`).join('');
const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const spellings: readonly (readonly [string, string])[] = [
  ['itself', key],
  ['JSON', JSON.stringify(key)],
  ['JSON with slashes escaped', JSON.stringify(key).replaceAll('/', '\\/')],
  ['JSON with everything escaped', escaped],
  ['a URL', encodeURIComponent(key)],
  ['a URL with everything encoded', percent],
  ['a URL with capital digits', percent.toUpperCase().replaceAll('%', '%')],
  ['hexadecimal', bytes.toString('hex')],
  ['capital hexadecimal', bytes.toString('hex').toUpperCase()],
  ['base64', bytes.toString('base64')],
  ['base64 of a password', Buffer.from(`u:${key}`).toString('base64')],
  ['base64 behind one byte', Buffer.from(`:${key}!`).toString('base64')],
  ['base64 for URLs', Buffer.from(`${key}??>`).toString('base64url')],
  ['base64 in JSON', JSON.stringify(bytes.toString('base64')).replaceAll('/', '\\/')],
  ['base64 in a URL', encodeURIComponent(bytes.toString('base64'))],
];

function given(answer: Buffer, cuts: readonly number[]): { readonly out: Buffer; readonly cut: boolean } {
  const watch = new KeyWatch(key);
  const out: Buffer[] = [];
  let from = 0;
  for (const at of [...cuts, answer.length]) {
    const safe = watch.next(answer.subarray(from, at));
    if (safe === null) return { out: Buffer.concat(out), cut: true };
    out.push(safe);
    from = at;
  }
  const rest = watch.rest();
  return { out: Buffer.concat(rest === null ? out : [...out, rest]), cut: rest === null };
}

describe('the watch for a key', () => {
  it.each(spellings)('cuts an answer with the key as %s, wherever it is parted', (_, spelled) => {
    const answer = Buffer.from(`before ${spelled} after`);
    for (let at = 0; at <= answer.length; at += 1) {
      const { out, cut } = given(answer, [at]);
      expect(cut).toBe(true);
      // What comes before the key in base64 shares a character with it.
      expect(out.length).toBeLessThanOrEqual('before dTpna'.length);
    }
    expect(given(answer, [...answer.keys()])).toMatchObject({ cut: true });
  });

  it.each(spellings)('gives no byte of it out when the answer breaks off within %s', (_, spelled) => {
    const broken = Buffer.from(`<${spelled}`).subarray(0, -1);
    const { out, cut } = given(broken, [...broken.keys()]);
    expect(out.length).toBeLessThanOrEqual('<dTpna'.length);
    expect(cut).toBe(true);
  });

  it('gives every other answer out whole, as soon as nothing of it can be the key', () => {
    const watch = new KeyWatch(key);
    expect(watch.next(Buffer.from('data: hello\n\n'))?.toString()).toBe('data: hello\n\n');
    expect(watch.next(Buffer.from('ends with gh'))?.toString()).toBe('ends with ');
    expect(watch.next(Buffer.from('i'))?.toString()).toBe('ghi');
    expect(watch.next(Buffer.from('g'))?.toString()).toBe('');
    expect(watch.rest()?.toString()).toBe('g');
  });

  it('changes no byte of 2,000 answers, whatever they hold and however they are parted', () => {
    const pieces = fc.constantFrom(
      'g',
      'ghp_',
      '%',
      '%2',
      '%67',
      '\\',
      '\\u',
      '\\u00',
      '\\u0067',
      'Z2hw',
      '6768',
      'x',
      '\n',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), fc.array(fc.nat(200), { maxLength: 8 }), (texts, places) => {
        const answer = Buffer.from(`${texts.join('')}.`);
        const cuts = places.filter((at) => at < answer.length).toSorted((one, other) => one - other);
        expect(given(answer, cuts)).toEqual({ out: answer, cut: false });
      }),
      { numRuns: 2_000 },
    );
  });

  it('never gives out more than a few bytes of a key in 2,000 answers with characters encoded at random', () => {
    const spelled = fc
      .array(fc.constantFrom('plain', 'percent'), { minLength: key.length, maxLength: key.length })
      .map((how) =>
        how.map((each, at) => (each === 'plain' ? key[at] : `%${bytes.subarray(at, at + 1).toString('hex')}`)).join(''),
      );
    fc.assert(
      fc.property(spelled, fc.array(fc.nat(120), { maxLength: 6 }), (text, places) => {
        const answer = Buffer.from(`.${text}.`);
        const cuts = places.filter((at) => at < answer.length).toSorted((one, other) => one - other);
        expect(given(answer, cuts).cut).toBe(true);
        expect(given(answer, cuts).out.length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 2_000 },
    );
  });
});
