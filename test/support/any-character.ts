/** Makes characters for property tests. */

import fc from 'fast-check';

const surrogates = 0x800;
const firstSurrogate = 0xd800;

/**
 * Every character that there is, as the unit of `fc.string`. The unit `binary` of fast-check is the same; it costs each file that names it
 * a second, for a table of all of them that is made to look characters up in.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates).map(characterAt, placeOf);

function characterAt(place: number): string {
  return String.fromCodePoint(place < firstSurrogate ? place : place + surrogates);
}

/** Throws for what is no character: so fast-check asks whether a text can be made of them. */
function placeOf(character: unknown): number {
  const code = typeof character === 'string' ? (character.codePointAt(0) ?? -1) : -1;
  const place = code < firstSurrogate ? code : code - surrogates;
  if (place < 0 || characterAt(place) !== character) throw new Error('this is not one character');
  return place;
}
