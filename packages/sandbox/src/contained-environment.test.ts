import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { containedEnvironment } from './contained-environment.ts';

const held = {
  PATH: '/opt/tools/bin:bin::.:/capsule/work/bin:/capsule/work:/capsule/workshop:/usr/bin',
  HOME: '/home/someone',
  API_TOKEN: 'secret',
  EMPTY: '',
  LANG: 'de_DE.UTF-8',
};
const place = { accessibleWorkdir: '/capsule/work', achieved: 'scoped' } as const;

describe('the environment of a contained command', () => {
  it('holds the baseline and nothing of the runtime but a search path without places the agent writes to', () => {
    expect(containedEnvironment({ ...place, held, allow: [] })).toEqual({
      PATH: '/opt/tools/bin:/capsule/workshop:/usr/bin',
      HOME: '/capsule/work/.svc/home',
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      TMPDIR: '/capsule/work/.svc/home/tmp',
    });
  });

  it.each([
    ['advisory', '/capsule/work/.svc/home/tmp'],
    ['scoped', '/capsule/work/.svc/home/tmp'],
    ['sealed', '/tmp'],
  ] as const)('has a place for temporary files that the agent may write to: %s', (achieved, expected) => {
    const { TMPDIR } = containedEnvironment({ ...place, achieved, held, allow: [] });
    expect(TMPDIR).toBe(expected);
  });

  it.each([
    ['advisory', '/home/someone/.svc/state'],
    ['scoped', '/home/someone/.svc/state'],
    ['sealed', '/state'],
  ] as const)('names the state stores, and lets nothing else name them: %s', (achieved, expected) => {
    const own = { ...place, achieved, held: { ...held, SVC_STATE: '/elsewhere' }, allow: ['SVC_STATE'] };
    const stores = [{ name: 'notes', path: '/home/someone/.svc/state/notes' }];
    expect(containedEnvironment({ ...own, stores })).toHaveProperty('SVC_STATE', expected);
    expect(containedEnvironment(own)).not.toHaveProperty('SVC_STATE');
  });

  it('names the real place of state stores where the workdir lies in that of a sealed process', () => {
    const stores = [{ name: 'notes', path: '/home/someone/.svc/state/notes' }];
    for (const accessibleWorkdir of ['/state', '/state/notes', '/state/a/work']) {
      const { SVC_STATE } = containedEnvironment({ accessibleWorkdir, achieved: 'sealed', held, allow: [], stores });
      expect(SVC_STATE).toBe('/home/someone/.svc/state');
    }
  });

  it('falls back to the system path', () => {
    const { PATH } = containedEnvironment({ ...place, held: { PATH: './bin' }, allow: [] });
    expect(PATH).toBe('/usr/local/bin:/usr/bin:/bin');
  });

  it('searches no place of the workdir however its entry is spelt', () => {
    const spelt = '/usr/../capsule/work/bin://capsule//work/./bin:/capsule/work/../bin:/usr/bin';
    const { PATH } = containedEnvironment({ ...place, held: { PATH: spelt }, allow: [] });
    expect(PATH).toBe('/capsule/work/../bin:/usr/bin');
  });

  it('has no other search path when PATH is allowed by name', () => {
    const { PATH } = containedEnvironment({ ...place, held, allow: ['PATH'] });
    expect(PATH).toBe('/opt/tools/bin:/capsule/workshop:/usr/bin');
  });

  it('searches no link into the workdir', () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-path-')));
    const work = join(folder, 'work');
    mkdirSync(join(work, 'bin'), { recursive: true });
    symlinkSync('work/bin', join(folder, 'tools'));
    const heldPath = `${join(folder, 'tools')}:/usr/bin`;
    const { PATH } = containedEnvironment({ ...place, accessibleWorkdir: work, held: { PATH: heldPath }, allow: [] });
    rmSync(folder, { recursive: true });
    expect(PATH).toBe('/usr/bin');
  });

  it('adds the allowed variables that the runtime holds, and lets them override', () => {
    const allow = ['API_TOKEN', 'EMPTY', 'ABSENT', 'LANG', 'toString', '__proto__'];
    expect(containedEnvironment({ ...place, held, allow })).toEqual({
      PATH: '/opt/tools/bin:/capsule/workshop:/usr/bin',
      HOME: '/capsule/work/.svc/home',
      LANG: 'de_DE.UTF-8',
      TERM: 'dumb',
      TMPDIR: '/capsule/work/.svc/home/tmp',
      API_TOKEN: 'secret',
      EMPTY: '',
    });
  });

  it('gives the session its own id, whatever is allowed', () => {
    const own = {
      ...place,
      sessionId: 'ses_own',
      held: { SVC_SESSION_ID: 'ses_of_the_parent' },
      allow: ['SVC_SESSION_ID'],
    };
    expect(containedEnvironment(own)).toHaveProperty('SVC_SESSION_ID', 'ses_own');
    expect(containedEnvironment({ ...place, held: {}, allow: [] })).not.toHaveProperty('SVC_SESSION_ID');
  });

  it('keeps the handle of a delegated session to its runtime', () => {
    const held = { SVC_SPAWNER: '{"delegation_id":"dlg_1"}' };
    expect(containedEnvironment({ ...place, held, allow: ['SVC_SPAWNER'] })).not.toHaveProperty('SVC_SPAWNER');
  });
});
