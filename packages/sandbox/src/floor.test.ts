import { describe, expect, it } from 'vitest';

import { effectiveFloor, floorRefusal, parseCeiling, underCeiling } from './floor.ts';

const host = { achieved: 'scoped', mechanism: 'landlock+seccomp', reason: 'user namespaces are not allowed' } as const;

describe('the containment floor', () => {
  it('comes from the strongest of manifest, workspace and flag [D1-CLI-18]', () => {
    expect(effectiveFloor({ manifest: 'scoped', workspace: 'advisory', flag: 'sealed' })).toBe('sealed');
    expect(effectiveFloor({ workspace: 'scoped' })).toBe('scoped');
  });

  it('stays above a weaker flag [D1-CLI-19]', () => {
    expect(effectiveFloor({ manifest: 'sealed', flag: 'advisory' })).toBe('sealed');
  });

  it('defaults to advisory when nothing declares one [D1-MAN-19]', () => {
    expect(effectiveFloor({})).toBe('advisory');
    expect(effectiveFloor({ manifest: undefined, workspace: undefined, flag: undefined })).toBe('advisory');
  });

  it('holds with the same class and with a stronger one', () => {
    expect(floorRefusal('scoped', host)).toBeNull();
    expect(floorRefusal('advisory', host)).toBeNull();
  });

  it('refuses a weaker host with E-CAP-003, both classes, the reason and a hint [D1-ERR-02] [D1-ERR-03] [D1-ERR-04]', () => {
    expect(floorRefusal('sealed', host)).toMatchObject({
      code: 'E-CAP-003',
      message:
        'the containment floor cannot be met: declared sealed, achieved scoped (user namespaces are not allowed)',
      hint: 'lower the floor to scoped, or run on a host that achieves sealed',
    });
  });
});

describe('the containment ceiling', () => {
  it('limits what is used and never adds to it', () => {
    expect(underCeiling('sealed', 'scoped')).toBe('scoped');
    expect(underCeiling('advisory', 'scoped')).toBe('advisory');
    expect(underCeiling('scoped', 'scoped')).toBe('scoped');
  });

  it('limits nothing when the variable is not set', () => {
    expect(parseCeiling(undefined)).toBe('sealed');
    expect(parseCeiling('')).toBe('sealed');
    expect(parseCeiling('advisory')).toBe('advisory');
  });

  it.each(['none', 'Scoped', ' sealed', 'toString'])('refuses %j rather than pass it over', (value) => {
    expect(() => parseCeiling(value)).toThrow(/is no containment class/);
  });
});
