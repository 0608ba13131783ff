/** Keeps on disk what this machine was found able to enforce, until something that it depends on changes. */

import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { isFlag, isObjectOf, isText, isWhole, orNull } from '@svc/kit/guards.ts';
import { replaceFileSync } from '@svc/kit/files/replace-file.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import type { HostAbility } from './launch/host-ability.ts';

const isKept = isObjectOf({
  key: isText,
  ability: isObjectOf({
    filter: isFlag,
    landlockAbi: orNull(isWhole),
    root: orNull(isObjectOf({ userNamespace: isFlag, proc: isFlag })),
    users: isFlag,
    obstacles: isObjectOf({ sealed: orNull(isText), scoped: orNull(isText), filter: orNull(isText) }),
  }),
});

/** What the probe found last, for as long as nothing it depends on has changed. A file that cannot be used counts as none. */
export class AbilityCache {
  readonly #file: string;

  readonly #uid: number;

  /** A file that is not this user's, or that others may write, counts as none: nobody else says what is enforced. */
  constructor(directory: string, uid: number) {
    this.#uid = uid;
    this.#file = join(directory, 'containment.json');
  }

  read(key: string): HostAbility | null {
    try {
      if (!this.#isOurs()) return null;
      const kept: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      return isKept(kept) && kept.key === key ? kept.ability : null;
    } catch (error) {
      // Not there yet, or not what we write: the probe runs again.
      if (error instanceof SyntaxError || errorCode(error) !== undefined) return null;
      throw error;
    }
  }

  /** Another user who may write to the directory could replace the file by one of their own, but cannot change ours. */
  #isOurs(): boolean {
    const { uid, mode } = lstatSync(this.#file);
    return uid === this.#uid && (mode & 0o022) === 0;
  }

  /** A cache that cannot be kept costs the next start its probe and nothing else. */
  write(key: string, ability: HostAbility): void {
    const bytes = Buffer.from(JSON.stringify({ key, ability }));
    unlessRefused(() => replaceFileSync(this.#file, bytes, { mode: 0o600, isDurable: false }), undefined);
  }
}

/** By which a host grants user namespaces or does not, where it has them: they are changed while the kernel runs. */
const settings = [
  'user/max_user_namespaces',
  'kernel/unprivileged_userns_clone',
  'kernel/apparmor_restrict_unprivileged_userns',
];

/**
 * What decides what a host can enforce, as far as a file shows it: the kernel as it was booted, its settings, the user, the namespaces and
 * profile this process is in already, and the helper. A profile for the helper shows nowhere: after it was loaded, only a trial finds out. Returns
 * null behind a filter of another program, because only a trial shows what that refuses.
 */
export function abilityKey(facts: {
  readonly helper: string;
  readonly uid: number;
  readonly kernel: string;
  /** `/proc/sys` when absent. */
  readonly settingsDirectory?: string;
}): string | null {
  const { settingsDirectory = '/proc/sys' } = facts;
  const { mtimeMs, size, ino } = statSync(facts.helper);
  const status = contentOf('/proc/self/status');
  if (/^Seccomp:\t[^0]/m.test(status)) return null;
  const confinement = status.match(/^(NoNewPrivs|CapEff|CapBnd):.*$/gm) ?? [];
  return [
    facts.kernel,
    contentOf('/proc/sys/kernel/random/boot_id'),
    settings.map((name) => contentOf(join(settingsDirectory, name))).join(' '),
    `${facts.uid}`,
    targetOf('/proc/self/ns/user'),
    targetOf('/proc/self/ns/mnt'),
    contentOf('/proc/self/attr/current'),
    ...confinement,
    `${facts.helper} ${ino} ${size} ${mtimeMs}`,
  ].join('\n');
}

function contentOf(path: string): string {
  return unlessRefused(() => readFileSync(path, 'utf8').trim(), '');
}

function targetOf(path: string): string {
  return unlessRefused(() => readlinkSync(path), '');
}
