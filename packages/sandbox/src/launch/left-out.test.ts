import { describe, expect, it } from 'vitest';

import { fileRights } from './compose-plan.ts';
import type { LaunchPlan } from './launch-plan.ts';
import { leavesOut } from './left-out.ts';

const root: LaunchPlan['root'] = [
  { kind: 'tmp', attributes: 0, bytes: 1, target: '/tmp' },
  { kind: 'symlink', text: 'usr/lib', target: '/lib' },
  { kind: 'symlink', text: '/loop', target: '/loop' },
  { kind: 'bind', attributes: 0, source: '/usr/lib/git-core', target: '/usr/lib/git-core' },
  { kind: 'bind', attributes: 0, source: '/srv/shop', target: '/work/project' },
];
const landlock: LaunchPlan['landlock'] = {
  handled: { filesystem: 0n, network: 0n, scope: 0n },
  paths: [
    { rights: fileRights.read, path: '/usr/lib/git-core' },
    { rights: fileRights.makeSocket, path: '/srv' },
  ],
  ports: [],
};

describe('a path of the host', () => {
  it.each([
    ['/usr/lib/git-core/git-add', false],
    ['/lib/git-core/git-add', false],
    ['/usr/lib', false],
    ['/usr/lib/git-core-2', true],
    ['/lib/other', true],
    ['/tmp/x', true],
    ['/loop/x', true],
    ['/work/project/x', true],
    ['/srv/shop/x', true],
  ])('lies outside of a root where nothing shows it: %s, %s', (path, isLeftOut) => {
    expect(leavesOut({ root, landlock: null }, path)).toBe(isLeftOut);
  });

  it.each([
    ['/usr/lib/git-core/git-add', false],
    ['/usr/lib', true],
    ['/srv/shop', true],
  ])('lies outside of the rules where none lets it be read: %s, %s', (path, isLeftOut) => {
    expect(leavesOut({ root: [], landlock }, path)).toBe(isLeftOut);
  });

  it('lies outside of nothing where nothing is kept from a program', () => {
    expect(leavesOut({ root: [], landlock: null }, '/etc/shadow')).toBe(false);
  });
});
