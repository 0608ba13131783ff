import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { architectures, compilerFlags, hashOfSources, nativePrograms } from '../../../../scripts/native-sources.mjs';
import { checkPrebuilt, readRecord, toolsHere } from '../../../../scripts/prebuilt-native.mjs';

const native = fileURLToPath(new URL('../../../../native', import.meta.url));

const machines: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };

/** When one of these fails after a change of the sources: npm run build:native -- --prebuilt, and commit native/prebuilt with them. */
describe('native/prebuilt', () => {
  it.each(nativePrograms)('holds %s as its sources are, with the current flags', (program) => {
    const record = readRecord();
    expect(record.programs[program].sources).toBe(hashOfSources(native, program));
    expect(record.flags).toBe(compilerFlags.join(' '));
  });

  it.each(nativePrograms)(
    'holds %s for each architecture, with the bytes that are recorded, static and stripped',
    (program) => {
      for (const architecture of architectures) {
        const bytes = readFileSync(join(native, 'prebuilt', `linux-${architecture}`, program));
        expect(createHash('sha256').update(bytes).digest('hex')).toBe(
          readRecord().programs[program][`linux-${architecture}`],
        );
        expect(bytes.readUInt16LE(18)).toBe(machines[architecture]);
        expect(bytes.length).toBeLessThan(200_000);
      }
    },
  );

  it('equals what its sources compile to, byte for byte', { timeout: 120_000 }, (context) => {
    const recorded = JSON.stringify(readRecord().tools);
    context.skip(
      JSON.stringify(toolsHere()) !== recorded,
      `needs exactly the tools that it was compiled with: ${recorded}`,
    );
    expect(() => checkPrebuilt()).not.toThrow();
  });
});
