import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { loadEnvironment } from './env-file.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let directory = '';

eachFolder('env-', (made) => {
  directory = made;
});

describe('the environment of a manifest', () => {
  it('has the .env of the workspace root below the process environment [D1-AUTH-02]', () => {
    writeFileSync(join(directory, '.env'), 'A=file\nB="from file"\n');
    const started = { A: 'process', C: 'process', D: undefined };
    expect(loadEnvironment({ directory, process: started, useFile: true })).toEqual({
      A: 'process',
      B: 'from file',
      C: 'process',
    });
    expect(started).toEqual({ A: 'process', C: 'process', D: undefined });
  });

  it('has the process environment alone when the file is turned off or missing [D1-AUTH-02]', () => {
    expect(loadEnvironment({ directory, process: { A: '1' }, useFile: true })).toEqual({ A: '1' });
    writeFileSync(join(directory, '.env'), 'B=2\n');
    expect(loadEnvironment({ directory, process: { A: '1' }, useFile: false })).toEqual({ A: '1' });
  });

  it('reads a file that starts with a byte order mark', () => {
    writeFileSync(join(directory, '.env'), '\uFEFFA=1\r\nB=2\r\n');
    expect(loadEnvironment({ directory, process: {}, useFile: true })).toEqual({ A: '1', B: '2' });
  });

  it('gives a coded error when the file cannot be read', () => {
    mkdirSync(join(directory, '.env'));
    expect(() => loadEnvironment({ directory, process: {}, useFile: true })).toThrow(
      /cannot read .*: it is a directory/,
    );
  });

  it('gives a coded error when the file may not be read', (context) => {
    context.skip(process.getuid?.() === 0, 'root may read every file');
    writeFileSync(join(directory, '.env'), 'A=1\n');
    chmodSync(join(directory, '.env'), 0);
    expect(() => loadEnvironment({ directory, process: {}, useFile: true })).toThrow(/permission denied/);
  });

  it('does not look above the workspace root', () => {
    writeFileSync(join(directory, '.env'), 'A=1\n');
    mkdirSync(join(directory, 'inner'));
    expect(loadEnvironment({ directory: join(directory, 'inner'), process: {}, useFile: true })).toEqual({});
  });
});
