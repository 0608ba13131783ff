import { describe, expect, it } from 'vitest';

import { ageSecs, byteSize, durationSecs, lifetimeSecs } from './units.ts';

describe('a size', () => {
  it.each([
    [1, 1],
    ['1Ki', 1024],
    ['10Mi', 10_485_760],
    ['2Gi', 2_147_483_648],
  ])('%s is %d bytes', (written, bytes) => {
    expect(byteSize.parse(written)).toBe(bytes);
  });

  it.each([0, -1, 1.5, '0Ki', '10', '10MB', '1.5Mi', '1 Ki', '999999999999999Gi', '', null, true, []])(
    '%j is invalid',
    (written) => {
      expect(byteSize.safeParse(written).success).toBe(false);
    },
  );
});

describe('a duration', () => {
  it.each([
    [90, 90],
    ['90s', 90],
    ['1.5m', 90],
    ['2h', 7200],
    ['0.5s', 0.5],
    ['596h', 2_145_600],
  ])('%s is %d seconds', (written, secs) => {
    expect(durationSecs.parse(written)).toBe(secs);
  });

  it.each([0, -5, 0.5, '0s', '5', '5d', '-5s', '597h', '99999999999h', 2_147_484, '1e3s', '', null, {}])(
    '%j is invalid',
    (written) => {
      expect(durationSecs.safeParse(written).success).toBe(false);
    },
  );
});

describe('a lifetime', () => {
  it.each([
    [90, 90],
    ['1.5m', 90],
    ['597h', 2_149_200],
    ['999999999h', 100_000_000_000],
    ['99999999999h', 100_000_000_000],
    [`${'9'.repeat(400)}.5h`, 100_000_000_000],
    [Number.MAX_SAFE_INTEGER, 100_000_000_000],
  ])('%s is %d seconds', (written, secs) => {
    expect(lifetimeSecs.parse(written)).toBe(secs);
  });

  it.each([0, -5, 0.5, '0s', '0.0m', '5', '5d', '-5s', 1e16, '', null, {}])('%j is invalid', (written) => {
    expect(lifetimeSecs.safeParse(written).success).toBe(false);
  });
});

describe('an age', () => {
  it.each([
    [90, 90],
    ['1.5m', 90],
    ['12h', 43_200],
    ['30d', 2_592_000],
    ['0.5d', 43_200],
    ['99999999999d', 100_000_000_000],
  ])('%s is %d seconds', (written, secs) => {
    expect(ageSecs.parse(written)).toBe(secs);
  });

  it.each([0, -1, 1.5, '0d', '30', '30 d', '1w', '-1d', 'd', '', null, []])('%j is invalid', (written) => {
    expect(ageSecs.safeParse(written).success).toBe(false);
  });
});
