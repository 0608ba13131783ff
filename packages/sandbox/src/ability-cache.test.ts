import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { describe, expect, it } from 'vitest';

import { replacementContract } from '../../../test/support/replacement-contract.ts';
import { AbilityCache, abilityKey } from './ability-cache.ts';
import type { HostAbility } from './launch/host-ability.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

const uid = getuid?.() ?? 0;
const ability: HostAbility = {
  filter: true,
  landlockAbi: 5,
  root: { userNamespace: false, proc: true },
  users: false,
  obstacles: { sealed: null, scoped: null, filter: null },
};

let folder = '';
let file = '';

eachFolder('svc-ability-', (made) => {
  folder = made;
  file = join(folder, 'containment.json');
});

describe('the record of the probe', () => {
  replacementContract('when kept', {
    path: 'containment.json',
    mode: 0o600,
    write: (directory, variant) => new AbilityCache(directory, uid).write(variant, ability),
    isQuiet: true,
  });

  it('lies under its key, with nothing else beside it', () => {
    const cache = new AbilityCache(folder, uid);
    expect(cache.read('host')).toBeNull();
    cache.write('host', ability);
    expect(cache.read('host')).toEqual(ability);
    expect(cache.read('another host')).toBeNull();
    expect(readdirSync(folder)).toEqual(['containment.json']);
  });

  it.each([0o620, 0o602])('does not count when others may write it: mode %o', (mode) => {
    const cache = new AbilityCache(folder, uid);
    cache.write('host', ability);
    chmodSync(file, mode);
    expect(cache.read('host')).toBeNull();
  });

  it('counts only when it belongs to this user', () => {
    const cache = new AbilityCache(folder, uid);
    cache.write('host', ability);
    expect(new AbilityCache(folder, uid + 1).read('host')).toBeNull();
  });

  it.runIf(uid === 0)('does not count to root when a user has put it there', () => {
    const cache = new AbilityCache(folder, uid);
    cache.write('host', ability);
    chownSync(file, 1000, 1000);
    expect(cache.read('host')).toBeNull();
  });

  it.each(['', '{', '{"key":"host"}', 'null'])('does not count when it is %j', (text) => {
    writeFileSync(file, text, { mode: 0o600 });
    expect(new AbilityCache(folder, uid).read('host')).toBeNull();
  });
});

describe('the key of the record of the probe', () => {
  it.for([
    'user/max_user_namespaces',
    'kernel/unprivileged_userns_clone',
    'kernel/apparmor_restrict_unprivileged_userns',
  ])('changes with the setting %s', (name, context) => {
    for (const directory of ['user', 'kernel']) mkdirSync(join(folder, directory));
    const keyNow = (): string | null =>
      abilityKey({ helper: process.execPath, uid, kernel: '6.12', settingsDirectory: folder });
    const before = keyNow();
    context.skip(before === null, 'runs behind a filter, where nothing is kept');
    writeFileSync(join(folder, name), '1\n');
    const on = keyNow();
    writeFileSync(join(folder, name), '0\n');
    expect(new Set([before, on, keyNow()]).size).toBe(3);
    expect(keyNow()).toBe(keyNow());
  });
});
