import { describe, expect, it } from 'vitest';

import { defaultMachineCeiling, isUnmatchable, parseOptions, type RefereeSettings } from './options.ts';

function settings(...args: readonly string[]): RefereeSettings {
  const parsed = parseOptions(args, 2);
  if (parsed.kind !== 'serve') throw new Error(JSON.stringify(parsed));
  return parsed.settings;
}

describe('the options of svc-referee', () => {
  it('have the defaults of the document [D2-OPT-01] [D2-OPT-03] [D2-LIMIT-02] [D2-LIMIT-03]', () => {
    expect(settings()).toEqual({
      port: 7700,
      registryPath: null,
      spawnAllow: new Set(),
      bounds: { maxDepth: 3, maxConcurrent: 4, maxLiveCapsules: 16 },
    });
  });

  it.each([
    [0, 16],
    [1, 16],
    [2, 16],
    [3, 24],
    [31, 248],
    [32, 256],
    [33, 256],
    [512, 256],
  ])('have for %i cores a ceiling of %i [D2-OPT-08] [D2-LIMIT-04]', (cores, ceiling) => {
    expect(defaultMachineCeiling(cores)).toBe(ceiling);
  });

  it('take a value that follows, or stands behind an equals sign [D2-OPT-04]', () => {
    const bounds = ['--max-depth', '1', '--max-concurrent=2', '--max-live-capsules', '300'];
    const args = ['--port', '0', '--registry-path=/a=b', '--spawn-allow', 'lead', '--spawn-allow=scout', ...bounds];
    expect(settings(...args)).toEqual({
      port: 0,
      registryPath: '/a=b',
      spawnAllow: new Set(['lead', 'scout']),
      bounds: { maxDepth: 1, maxConcurrent: 2, maxLiveCapsules: 300 },
    });
  });

  it('take each name of --spawn-allow for one name [D2-OPT-04]', () => {
    const { spawnAllow } = settings('--spawn-allow', 'lead,scout', '--spawn-allow', 'a b', '--spawn-allow', 'lead');
    expect([...spawnAllow]).toEqual(['lead,scout', 'a b', 'lead']);
    expect([...spawnAllow].filter(isUnmatchable)).toEqual(['lead,scout', 'a b']);
  });

  it('take the last of a number that is given twice', () => {
    expect(settings('--port', '1', '--port=2').port).toBe(2);
  });

  it.each(['--port', '--max-depth', '--max-concurrent', '--max-live-capsules'])(
    'take a whole number for %s, 0 among them, and nothing that has no limit [D2-OPT-10]',
    (flag) => {
      const bad = ['-1', '+1', '1.5', '1e3', '0x10', 'unlimited', 'Infinity', 'NaN', ' 1', '9007199254740993'];
      for (const value of bad) {
        expect(parseOptions([flag, value], 2), value).toEqual({
          kind: 'invalid',
          problem: `${flag} is "${value}", which is not a whole number${flag === '--port' ? ' up to 65535' : ''}`,
        });
      }
      expect(parseOptions([flag, '0'], 2).kind).toBe('serve');
    },
  );

  it('take the highest number of each, and not the next', () => {
    expect(settings('--port', '65535').port).toBe(65_535);
    expect(parseOptions(['--port', '65536'], 2).kind).toBe('invalid');
    expect(settings('--max-depth', '9007199254740991').bounds.maxDepth).toBe(9_007_199_254_740_991);
  });

  it('take what stands behind an equals sign for a value also where it begins as a flag', () => {
    expect(settings('--registry-path=--here').registryPath).toBe('--here');
  });

  it.each(['--port', '--registry-path', '--spawn-allow', '--max-depth'])('need a value for %s', (flag) => {
    const problem = `${flag} needs a value`;
    for (const args of [[flag], [`${flag}=`], [flag, ''], [flag, '--version'], [flag, '--max-total']]) {
      expect(parseOptions(args, 2)).toEqual({ kind: 'invalid', problem });
    }
  });

  it.each([
    [['--max-total', '5'], '--max-total'],
    [['--max-total=5'], '--max-total'],
    [['--port', '1', '2'], '2'],
    [['--Port', '1'], '--Port'],
    [['--version', '--max-total'], '--max-total'],
    [['--version=1'], '--version'],
    [['--help=me'], '--help'],
    [['--'], '--'],
    [['port=1'], 'port=1'],
  ])('know nothing of %j [D2-OPT-14] [D2-OPT-15]', (args, argument) => {
    expect(parseOptions(args, 2)).toEqual({ kind: 'unknown', argument });
  });

  it('print what is asked for first [D2-OPT-09]', () => {
    expect(parseOptions(['--port', 'x', '--version', '--help'], 2)).toEqual({ kind: 'print', what: 'version' });
    expect(parseOptions(['--help'], 2)).toEqual({ kind: 'print', what: 'help' });
  });
});
