import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { RegistryKit, bareArchive } from './registry-kit.ts';

const races = Number(process.env['REGISTRY_RACES'] ?? 30);
const writers = 8;

describe(`${writers} publishers of one version at once, ${races} times, through two servers on one directory`, () => {
  it(
    'one gets 201, the others 409, and what is served is that one’s',
    async () => {
      const data = temporaryDirectory();
      const kits = [await RegistryKit.open({ data }), await RegistryKit.open({ data })];
      const archives = await Promise.all(
        Array.from({ length: writers }, (_, writer) => bareArchive(`writer ${writer}`)),
      );
      for (let race = 0; race < races; race += 1) {
        const path = `race@1.0.${race}`;
        const answers = await Promise.all(
          archives.map(async (archive, writer) => {
            const query = `name=race&version=1.0.${race}&runtime=static`;
            return (await kitOf(kits, writer).publish(query, archive)).status;
          }),
        );
        expect(
          answers.toSorted((a, b) => a - b),
          path,
        ).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
        const won = archives[answers.indexOf(201)] ?? Buffer.alloc(0);
        for (const kit of kits) {
          const { headers } = await kit.ask(`GET /v1/artifacts/race/1.0.${race}`);
          expect(headers['x-svc-sha256'], path).toBe(createHash('sha256').update(won).digest('hex'));
        }
      }
      const [kit] = kits;
      // A directory, an archive and a record for each version.
      expect([kit?.stored.length, kit?.staged]).toEqual([races * 3, []]);
      expect(kits.map(({ bugs, faults }) => [bugs, faults])).toEqual([
        [[], []],
        [[], []],
      ]);
    },
    30_000 + races * 1_000,
  );

  it('with different platforms all get 201, with overlapping ones no platform is there twice', async () => {
    const data = temporaryDirectory();
    const kits = [await RegistryKit.open({ data }), await RegistryKit.open({ data })];
    const platforms = Array.from({ length: writers }, (_, index) => `os${index}-x86_64`);
    const publish = async (
      version: string,
      index: number,
      wanted: readonly (string | undefined)[],
    ): Promise<number> => {
      const query = [`name=a&version=${version}&runtime=static`, ...wanted.map((name) => `platform=${name}`)].join('&');
      return (await kitOf(kits, index).publish(query, await bareArchive(`variant ${index}`))).status;
    };
    const apart = await Promise.all(platforms.map((platform, index) => publish('1', index, [platform])));
    expect(apart).toEqual(platforms.map(() => 201));
    const chained = await Promise.all(
      platforms.map((platform, index) => publish('2', index, [platform, platforms[(index + 1) % writers]])),
    );
    const won = chained.flatMap((status, index) => (status === 201 ? [index, (index + 1) % writers] : []));
    expect(new Set(won).size).toBe(won.length);
    const index = (await (await RegistryKit.open({ data })).index()) as { version: string; platforms: string[][] }[];
    expect(index.map(({ version, platforms: there }) => [version, there.length])).toEqual([
      ['1', 8],
      ['2', won.length],
    ]);
  });
});

function kitOf(kits: readonly RegistryKit[], writer: number): RegistryKit {
  const kit = kits[writer % kits.length];
  if (kit === undefined) throw new Error('there is no server');
  return kit;
}
