import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { encodeRecord } from '../src/artifact-records.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { RegistryKit, archiveWith, bareArchive, refusal, toolArchive } from './registry-kit.ts';

/** Writes the record of a version into a data directory; nobody asks for its archive. */
function record(data: string, ref: { readonly name: string; readonly version: string; readonly tags: string[] }): void {
  const directory = join(data, 'objects', `${ref.name}@${ref.version}@1`);
  mkdirSync(directory, { recursive: true });
  const kinds = { runtime: 'wasm', artifact_runtime: 'tool', platforms: [] } as const;
  const rest = { sha256: '0'.repeat(64), bytes: 1, description: null, published_at: null, published_by: null };
  writeFileSync(join(directory, 'record.json'), encodeRecord({ ...ref, ...kinds, platforms: [], ...rest }));
}

describe('the index', () => {
  it('has an empty array for an empty registry [D3-REG-22]', async () => {
    const kit = await RegistryKit.open();
    const response = await kit.ask('GET /v1/artifacts');
    expect([response.status, response.headers['content-type'], response.body]).toEqual([200, 'application/json', '[]']);
  });

  it('has one object for each version, with everything D3 names, sorted [D3-REG-22] [D3-INDEX-01] [D3-INDEX-02] [D3-INDEX-03] [D3-INDEX-04] [D3-INDEX-05] [D3-INDEX-06] [D3-INDEX-07]', async () => {
    const kit = await RegistryKit.open();
    const described = { name: 'echo', version: '1.0.0', runtime: 'hook', description: 'Echoes.', tags: '[a, b]' };
    await kit.publish('name=notes&version=1&runtime=static', await bareArchive());
    await kit.publish('name=echo&version=2.0.0&runtime=wasm', await toolArchive('echo', '2.0.0'));
    await kit.publish(
      'name=echo&version=1.0.0&runtime=native&platform=linux-x86_64&platform=darwin-aarch64',
      await archiveWith(described),
    );
    await kit.publish(
      'name=echo&version=1.0.0&runtime=native',
      await archiveWith({ ...described, description: 'Else.' }),
    );
    expect(await kit.index()).toEqual([
      {
        name: 'echo',
        version: '1.0.0',
        runtime: 'native',
        artifact_runtime: 'hook',
        platforms: [
          ['darwin', 'aarch64'],
          ['linux', 'x86_64'],
        ],
        description: 'Echoes.',
        tags: ['a', 'b'],
      },
      {
        name: 'echo',
        version: '2.0.0',
        runtime: 'wasm',
        artifact_runtime: 'tool',
        platforms: [],
        description: null,
        tags: [],
      },
      {
        name: 'notes',
        version: '1',
        runtime: 'static',
        artifact_runtime: 'skill',
        platforms: [],
        description: null,
        tags: [],
      },
    ]);
  });

  it.each([
    ['wasm', 'tool'],
    ['native', 'tool'],
    ['static', 'skill'],
  ])('gives an archive without a manifest and packaged as %s the role %s [D3-INDEX-04]', async (runtime, role) => {
    const kit = await RegistryKit.open();
    await kit.publish(`name=bare&version=1&runtime=${runtime}`, await bareArchive());
    expect(await kit.index()).toMatchObject([{ runtime, artifact_runtime: role }]);
  });

  it.each(['tool', 'hook', 'driver', 'skill'])('names the role %s of a manifest [D3-INDEX-04]', async (runtime) => {
    const kit = await RegistryKit.open();
    await kit.publish('name=a&version=1&runtime=wasm', await archiveWith({ name: 'a', version: '"1"', runtime }));
    expect(await kit.index()).toMatchObject([{ artifact_runtime: runtime }]);
  });

  it('cuts a description and tags that are for a page, not for an index', async () => {
    const kit = await RegistryKit.open();
    const tags = `[${Array.from({ length: 60 }, (_, index) => `t${index}`).join(', ')}]`;
    const description = 'x'.repeat(5_000);
    await kit.publish(
      'name=a&version=1&runtime=wasm',
      await archiveWith({ name: 'a', version: '"1"', description, tags }),
    );
    const [entry] = (await kit.index()) as { description: string; tags: string[] }[];
    expect(entry?.description).toBe(`${'x'.repeat(200)}…`);
    expect([entry?.tags.length, entry?.tags[49]]).toEqual([50, 't49']);
    const listed = JSON.parse(Buffer.from((await kit.ask('GET /v1/artifacts/a')).body, 'latin1').toString()) as object;
    expect(listed).toMatchObject({ versions: [{ description: `${'x'.repeat(1_999)}…` }] });
  });

  it('spells out control characters, which take six bytes each in it', async () => {
    const kit = await RegistryKit.open();
    const texts = { description: '"a\\x01b\\n\\tc \\x9b"', tags: '["\\x02"]' };
    await kit.publish('name=a&version=1&runtime=wasm', await archiveWith({ name: 'a', version: '"1"', ...texts }));
    expect(await kit.index()).toMatchObject([{ description: 'a\\u{1}b\n\tc \\u{9b}', tags: ['\\u{2}'] }]);
  });

  it('has a share of its length for each name, above which no version is published', async () => {
    const data = temporaryDirectory();
    const tags = Array.from({ length: 50 }, () => '€'.repeat(100));
    for (let index = 0; index < 137; index += 1) record(data, { name: 'a', version: `0.${index}`, tags });
    const kit = await RegistryKit.open({ data });
    // 2 MiB are 2,097,152 bytes; a character of the body is a byte.
    expect((await kit.ask('GET /v1/artifacts')).body).toHaveLength(2_091_470);
    const publish = async (name: string, described: Readonly<Record<string, string>>): Promise<string> => {
      const archive = await archiveWith({ name, version: '1.0.0', runtime: 'skill', ...described });
      const answer = await kit.publish(`name=${name}&version=1.0.0&runtime=static`, archive);
      return answer.status === 201 ? '201' : refusal(answer);
    };
    const long = { tags: JSON.stringify(tags) };
    expect(await publish('a', long)).toBe('400 too many versions');
    expect(kit.staged).toEqual([]);
    expect([await publish('b', long), await publish('a', {})]).toEqual(['201', '201']);
  });

  it('goes out once to a client that has it', async () => {
    const kit = await RegistryKit.open();
    await kit.publish('name=a&version=1&runtime=static', await bareArchive());
    const { etag = '' } = (await kit.ask('GET /v1/artifacts')).headers;
    const again = { headers: [`If-None-Match: ${etag}`] };
    expect((await kit.ask('GET /v1/artifacts', again)).status).toBe(304);
    await kit.publish('name=b&version=1&runtime=static', await bareArchive());
    expect((await kit.ask('GET /v1/artifacts', again)).status).toBe(200);
  });

  it('stays the same after a restart, and shows what another server on the directory has published', async () => {
    const kit = await RegistryKit.open();
    await kit.publish('name=a&version=1&runtime=static', await bareArchive());
    const other = await RegistryKit.open({ data: kit.data });
    expect(await other.index()).toEqual(await kit.index());
    await other.publish('name=a&version=1&runtime=static&platform=linux-x86_64', await bareArchive('linux'));
    expect(
      (await kit.publish('name=a&version=1&runtime=static&platform=linux-x86_64', await bareArchive())).status,
    ).toBe(409);
    const { body } = await kit.ask('GET /v1/artifacts/a/1?platform=linux-x86_64');
    expect(body).toContain('linux');
    expect(await kit.index()).toMatchObject([{ name: 'a', platforms: [['linux', 'x86_64']] }]);
  });

  it('hides the artifact whose record is damaged, and no other, and reports that once', async () => {
    const data = temporaryDirectory();
    const first = await RegistryKit.open({ data });
    await first.publish('name=a&version=1&runtime=static', await bareArchive());
    await first.publish('name=b&version=1&runtime=static', await bareArchive());
    writeFileSync(join(data, 'objects', 'a@1@1', 'record.json'), '{');
    mkdirSync(join(data, 'objects', 'lost+found'));
    const kit = await RegistryKit.open({ data });
    expect(await kit.index()).toMatchObject([{ name: 'b' }]);
    expect((await kit.ask('GET /v1/artifacts/a/1')).status).toBe(500);
    expect((await kit.publish('name=a&version=1&runtime=static', await bareArchive())).status).toBe(500);
    expect(kit.faults.map(({ code, message }) => `${code} ${message}`)).toEqual([
      'E-REG-023 the record of a@1@1 is missing or cannot be understood',
    ]);
    rmSync(join(data, 'objects', 'a@1@1', 'record.json'));
    expect((await kit.publish('name=a&version=1&runtime=static', await bareArchive())).status).toBe(500);
  });

  it('holds all of 10,000 artifacts', async () => {
    const data = temporaryDirectory();
    for (let index = 0; index < 10_000; index += 1) {
      record(data, { name: `a${String(index).padStart(5, '0')}`, version: '1.0.0', tags: [] });
    }
    const kit = await RegistryKit.open({ data });
    const names = ((await kit.index()) as { name: string }[]).map(({ name }) => name);
    expect([names.length, names[0], names[9_999]]).toEqual([10_000, 'a00000', 'a09999']);
    expect(names).toEqual([...names].sort());
    // Here and not in a hook, whose time is shorter.
    rmSync(join(data, 'objects'), { recursive: true });
    // Thirty seconds are too few for the disk of a busy machine.
  }, 180_000);
});
