import { writeFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { canMount, makeReadOnly, mountSmall } from '../../artifacts/test/store/small-file-system.ts';
import { RegistryKit, bareArchive, refusal } from './registry-kit.ts';

const query = (name: string): string => `name=${name}&version=1&runtime=static`;

/** Leaves no byte free. */
function fill(disk: string): void {
  for (let index = 0; index < 10_000; index += 1) {
    try {
      writeFileSync(join(disk, `filler-${index}`), Buffer.alloc(4096));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

describe.skipIf(!canMount)('on a disk that refuses (skipped without the right to mount)', () => {
  it('an archive that does not fit is 507, leaves nothing, and what was there is served', async () => {
    const disk = mountSmall(512);
    const kit = await RegistryKit.open({ data: disk });
    const small = await bareArchive('small');
    expect((await kit.publish(query('a'), small)).status).toBe(201);
    const stored = kit.stored;
    expect(refusal(await kit.publish(query('b'), await bareArchive('x'.repeat(700_000))))).toBe(
      '507 insufficient_storage',
    );
    expect([kit.stored, kit.staged]).toEqual([stored, []]);
    fill(disk);
    expect(refusal(await kit.publish(query('b'), small))).toBe('507 insufficient_storage');
    expect([kit.stored, kit.staged, kit.bugs]).toEqual([stored, [], []]);
    expect(kit.faults.map(({ code, message }) => `${code} ${message.replace(/^.*: /, '')}`)).toEqual([
      'E-IO-001 no space left on the device',
      'E-IO-001 no space left on the device',
    ]);
    expect((await kit.ask('GET /v1/artifacts/a/1')).body).toBe(small.toString('latin1'));
    expect(await kit.index()).toMatchObject([{ name: 'a' }]);
    for (const name of readdirSync(disk).filter((file) => file.startsWith('filler'))) rmSync(join(disk, name));
    expect((await kit.publish(query('b'), small)).status).toBe(201);
  });

  it('a server starts on a full one and serves what it has', async () => {
    const disk = mountSmall(256);
    const first = await RegistryKit.open({ data: disk });
    await first.publish(query('a'), await bareArchive('small'));
    fill(disk);
    const kit = await RegistryKit.open({ data: disk });
    expect((await kit.ask('GET /v1/artifacts/a/1')).status).toBe(200);
  });

  it('a read-only one is 500 for publishing alone', async () => {
    const disk = mountSmall(256);
    const kit = await RegistryKit.open({ data: disk });
    await kit.publish(query('a'), await bareArchive('small'));
    makeReadOnly(disk);
    expect(refusal(await kit.publish(query('b'), await bareArchive()))).toBe('500 io_error');
    expect(kit.faults.map(({ message }) => message.replace(/^.*: /, ''))).toEqual(['the file system is read-only']);
    expect((await kit.ask('GET /v1/artifacts/a/1')).status).toBe(200);
    expect(kit.bugs).toEqual([]);
  });
});
