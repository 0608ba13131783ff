import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { checkExportRoots, type ExportCheck } from './export-root.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let workdir = '';

eachFolder('svc-check-', (made) => {
  workdir = made;
  mkdirSync(join(workdir, 'out'));
});

function problems(exports: ExportCheck['exports']): string[] {
  return checkExportRoots({ workdir, exports }).map(({ code, message }) => `${code} ${message}`);
}

describe('the export roots at launch', () => {
  it('pass when they are directories of the workdir, or do not exist yet [D3-EXPORT-01]', () => {
    expect(problems({})).toEqual([]);
    expect(problems({ files: { root: '.' }, peer_files: { root: './out/' } })).toEqual([]);
    expect(problems({ files: { root: 'later/deep' } })).toEqual([]);
  });

  it('may be links that stay inside', () => {
    symlinkSync('out', join(workdir, 'alias'));
    symlinkSync('later', join(workdir, 'early'));
    expect(problems({ files: { root: 'alias' }, peer_files: { root: 'early/deep' } })).toEqual([]);
  });

  it.each(['..', '/etc', '/none/none', '../none', 'out/../..'])('fail when one is a link to %s', (target) => {
    symlinkSync(target, join(workdir, 'leak'));
    expect(problems({ files: { root: 'leak' } })).toEqual([
      'E-CAP-007 exports.files.root "leak" resolves outside the accessible workdir',
    ]);
    expect(problems({ files: { root: 'out' }, peer_files: { root: 'leak/deep' } })).toEqual([
      'E-CAP-007 exports.peer_files.root "leak/deep" resolves outside the accessible workdir',
    ]);
  });

  it('fail when one is spelled wrong', () => {
    expect(problems({ files: { root: '../out' }, peer_files: { root: '/etc' } })).toHaveLength(2);
  });

  it('fail when no header could carry one', () => {
    expect(problems({ files: { root: 'a\nb' } })).toEqual([
      'E-MAN-003 exports.files.root must not hold control characters, not "a\\nb"',
    ]);
  });
});
