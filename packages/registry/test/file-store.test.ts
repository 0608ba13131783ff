import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, vi } from 'vitest';

import { FileStore, parentsUntilThere } from '../src/file-store.ts';
import { StagingArea } from '../src/staging.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { regularFileContract } from '../../../test/support/beneath-contract.ts';
import { objectStoreContract } from './object-store-contract.ts';

objectStoreContract('files', async () => {
  const data = temporaryDirectory();
  const staging = await StagingArea.open(data);
  return { staging, store: async () => await FileStore.open(data) };
});

regularFileContract('an opened archive', {
  name: 'archive.zip',
  content: 'bytes',
  read: async (directory) => {
    const objects = join(directory, 'objects');
    if (!existsSync(objects)) {
      mkdirSync(objects);
      symlinkSync('..', join(objects, 'key'));
    }
    const opened = await (await FileStore.open(directory)).openArchive('key');
    await opened?.file.close();
    return opened;
  },
});

it('a new directory brings to the disk the names of those above it that are new too', async () => {
  const base = temporaryDirectory();
  const root = join(base, 'a', 'b');
  expect(parentsUntilThere(join(root, 'objects'))).toEqual([root, join(base, 'a'), base]);
  expect(await (await FileStore.open(root)).listKeys()).toEqual([]);
  expect(parentsUntilThere(join(root, 'objects'))).toEqual([root]);
});

describe('the staging area', () => {
  /** What an upload that was never finished leaves. */
  function leave(data: string, owner: string, run: string): string {
    const directory = join(data, 'staging', owner, run);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'archive.zip'), 'half');
    return directory;
  }

  it('writes a body of single bytes before it has thousands of them in memory', async () => {
    const data = temporaryDirectory();
    const staging = await StagingArea.open(data);
    await staging.claim('host');
    const written = (): number => {
      const [upload = ''] = readdirSync(join(data, 'staging', 'host'));
      return statSync(join(data, 'staging', 'host', upload, 'archive.zip')).size;
    };
    async function* singleBytes(): AsyncGenerator<Buffer> {
      for (let sent = 0; sent < 2_500; sent += 1) yield Buffer.from('a');
      await vi.waitUntil(() => written() >= 2_000, { timeout: 20_000 });
      yield Buffer.from('b');
    }
    const archive = await staging.receive(singleBytes());
    expect([archive.bytes, written()]).toEqual([2_501, 2_501]);
    await staging.discard(archive);
  });

  it('sweeps what its own predecessor left, and no other server’s work', async () => {
    const data = temporaryDirectory();
    leave(data, 'host_127.0.0.1_7800', 'dead-1');
    leave(data, 'host_127.0.0.1_7801', 'alive-1');
    const staging = await StagingArea.open(data);
    await staging.claim('host_127.0.0.1:7800');
    expect(readdirSync(join(data, 'staging', 'host_127.0.0.1_7800'))).toEqual([]);
    expect(readdirSync(join(data, 'staging', 'host_127.0.0.1_7801'))).toEqual(['alive-1']);
  });

  it('sweeps what nobody has written to for a day', async () => {
    const data = temporaryDirectory();
    const old = leave(data, 'gone_1', 'dead-1');
    const growing = leave(data, 'gone_1', 'slow-1');
    const dayAgo = Date.now() / 1000 - 25 * 60 * 60;
    utimesSync(join(old, 'archive.zip'), dayAgo, dayAgo);
    for (const directory of [old, growing]) utimesSync(directory, dayAgo, dayAgo);
    await (await StagingArea.open(data)).claim('here_1');
    expect(readdirSync(join(data, 'staging', 'gone_1'))).toEqual(['slow-1']);
  });
});
