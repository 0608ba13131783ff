import fc from 'fast-check';
import { expect, it } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import { RegistryKit, bareArchive } from './registry-kit.ts';

const lower = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';

/** The rules of names and versions once more, by letters (docs/protocol.md "The registry"). */
function isName(text: string): boolean {
  if (text === '' || text.length > 100 || text.startsWith('-') || text.endsWith('-')) return false;
  return Array.from(text).every((letter) => `${lower}${digits}-`.includes(letter));
}

function isVersion(text: string): boolean {
  const first = text.at(0) ?? '';
  const inner = `${lower}${lower.toUpperCase()}${digits}`;
  if (first === '' || text.length > 100 || !inner.includes(first) || text.includes('..')) return false;
  return Array.from(text).every((letter) => `${inner}.+-`.includes(letter));
}

const word = (letters: string): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...letters.split('')), minLength: 1, maxLength: 12 });
const anything = fc.string({ unit: anyCharacter, maxLength: 12 });
const names = fc.oneof(word(`${lower}-`), word(`ab-_./%`), anything);
const versions = fc.oneof(word(`0123.+-rcRC`), word('01.%/ @\\'), anything);

it('a name and a version are stored exactly when they follow the rules, and come back under the same', async () => {
  const kit = await RegistryKit.open();
  const stored = new Set<string>();
  const run = async (name: string, version: string): Promise<void> => {
    const id = `${name}@${version}`;
    const isLegal = isName(name) && isVersion(version) && !['latest', 'stable', 'edge'].includes(version);
    const body = await bareArchive(id);
    const query = `name=${encodeURIComponent(name)}&version=${encodeURIComponent(version)}&runtime=static`;
    const { status } = await kit.publish(query, body);
    const refused = ['latest', 'stable', 'edge'].includes(version) && isName(name) ? 422 : 400;
    expect(status, id).toBe(isLegal ? (stored.has(id) ? 409 : 201) : refused);
    if (isLegal) stored.add(id);
    const path = `/v1/artifacts/${encodeURIComponent(name)}/${encodeURIComponent(version)}`;
    const download = await kit.ask(`GET ${path}`);
    expect([download.status, download.body === body.toString('latin1')], id).toEqual(
      isLegal ? [200, true] : [404, false],
    );
  };
  await fc.assert(fc.asyncProperty(names, versions, run), { numRuns: 300 });
  expect(stored.size).toBeGreaterThan(10);
  const index = (await kit.index()) as { name: string; version: string }[];
  expect(index.map(({ name, version }) => `${name}@${version}`).toSorted()).toEqual([...stored].toSorted());
  expect(kit.stored.filter((path) => !path.includes('/')).every((key) => /^[0-9a-z][0-9a-z.+@-]*$/.test(key))).toBe(
    true,
  );
  expect([kit.bugs, kit.faults, kit.staged]).toEqual([[], [], []]);
});

it('no target below /v1 is answered as an error of the server', async () => {
  const kit = await RegistryKit.open();
  await kit.publish('name=a&version=1&runtime=static', await bareArchive());
  const piece = fc.oneof(
    fc.constantFrom('a', '1', '/', '..', '.', '%2f', '%00', '%', '?', '&', '=', 'platform', 'a-b', '+'),
    word('!$()*,;:@~'),
  );
  const targets = fc.array(piece, { maxLength: 12 }).map((pieces) => `/v1/artifacts${pieces.join('')}`);
  await fc.assert(
    fc.asyncProperty(targets, fc.constantFrom('GET', 'POST', 'HEAD', 'PUT'), async (target, method) => {
      expect((await kit.ask(`${method} ${target}`)).status, `${method} ${target}`).toBeLessThan(500);
    }),
    { numRuns: 300 },
  );
  expect([kit.bugs, kit.faults]).toEqual([[], []]);
});
