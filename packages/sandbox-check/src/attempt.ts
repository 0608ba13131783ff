/** What an attempt to break out is, what is promised of it, and what was seen of it. */

import type { HeldLimit } from '@svc/protocol/held-limit.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { ProcessGrants } from '@svc/sandbox/launch/process-grants.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import type { AttemptTools } from './attempt-tools.ts';
import type { Surroundings } from './surroundings.ts';

/** What an attempt at a launch needs of its host. */
export interface LaunchAttemptHost {
  readonly containment: Containment;
  /** `svc-launch`. */
  readonly helper: string;
}

/** What is promised of an attempt. */
export type Promised =
  /** It is refused and has no effect; what it looks for is not there. */
  | 'stopped'
  /** It ends the process that makes it. */
  | 'killed'
  /** Nothing: a host that stops it all the same breaks no promise. */
  | 'open'
  /** It is granted, so it has to work. */
  | 'works';

/** By class; null where the attempt means nothing. */
type Promises = Readonly<Record<ContainmentClass, Promised | null>>;

interface AttemptBase {
  readonly name: string;
  /** What is tried, as a clause for a person. */
  readonly title: string;
  readonly promises: Promises;
  /** What is promised only where the limit of the session on it is held by something. */
  readonly limit?: HeldLimit['resource'];
  /** What it cannot be tried without. */
  readonly needs?: readonly (keyof AttemptTools)[];
}

/** Made by `svc-attempts`, started through the launcher like any command. */
export interface ProgramAttempt extends AttemptBase {
  readonly kind: 'program';
  /** The name by which `svc-attempts` knows it. */
  readonly program: string;
  readonly operands?: (place: Surroundings) => Promise<readonly string[]> | readonly string[];
  /** What is granted beside the workdir. */
  readonly grants?: (place: Surroundings) => Promise<Partial<ProcessGrants>> | Partial<ProcessGrants>;
  /** Whether its effect is seen from outside once the session is over. */
  readonly effect?: (place: Surroundings) => Promise<boolean> | boolean;
}

/** An attempt at the launch itself. */
export interface LaunchAttempt extends AttemptBase {
  readonly kind: 'launch';
  readonly make: (host: LaunchAttemptHost, place: Surroundings) => Promise<Seen>;
}

export type Attempt = ProgramAttempt | LaunchAttempt;

/** As the tables write it. */
export type ProgramEntry = Omit<ProgramAttempt, 'kind'>;

export function programAttempt(entry: ProgramEntry): ProgramAttempt {
  return { kind: 'program', ...entry };
}

const promises = (advisory: Promised | null, scoped: Promised | null, sealed: Promised | null): Promises => ({
  advisory,
  scoped,
  sealed,
});

export const stopped: Promises = promises('stopped', 'stopped', 'stopped');
export const killed: Promises = promises('killed', 'killed', 'killed');
export const open: Promises = promises('open', 'open', 'open');
export const works: Promises = promises('works', 'works', 'works');
export const stoppedFromScoped: Promises = promises('open', 'stopped', 'stopped');
export const stoppedInSealed: Promises = promises('open', 'open', 'stopped');
/** Where mounts keep and mask places of a folder; `scoped` refuses the folder. */
export const stoppedByMounts: Promises = promises('open', null, 'stopped');
/** Where the allow-list of the network is enforced. */
export const stoppedByProxy: Promises = promises(null, null, 'stopped');
export const worksByProxy: Promises = promises(null, null, 'works');

/** What became of an attempt. */
export interface Seen {
  /** `unclear`: neither an effect nor a refusal was seen, so that nothing is shown. */
  readonly kind: 'allowed' | 'absent' | 'refused' | 'killed' | 'unclear';
  /** The name of an error or signal, or a word of who refused; empty where there is nothing to add. */
  readonly detail: string;
}

export const allowed: Seen = { kind: 'allowed', detail: '' };

/** `refused EACCES`. */
export function formatSeen({ kind, detail }: Seen): string {
  return detail === '' ? kind : `${kind} ${detail}`;
}

/** Reads what `svc-attempts` printed; null for any other line. `tried` means that only its effect shows what came of it. */
export function parseAnswer(line: string): Seen | 'tried' | null {
  if (line === 'tried\n') return 'tried';
  if (line === 'allowed\n') return allowed;
  if (line === 'absent\n') return { kind: 'absent', detail: '' };
  const [, kind, detail = ''] = /^(refused|killed) (\S+)\n$/.exec(line) ?? [];
  return kind === 'refused' || kind === 'killed' ? { kind, detail } : null;
}

/** `more`: stopped although nothing was promised. */
export type Judgement = 'as promised' | 'more' | 'not as promised';

/** What a class promises of an attempt where these limits are held; null where the attempt means nothing. */
export function promisedOf(attempt: Attempt, wanted: ContainmentClass, limits: readonly HeldLimit[]): Promised | null {
  const promised = attempt.promises[wanted];
  if (attempt.limit === undefined || promised === null) return promised;
  const isHeld = limits.some(({ resource, held_by: by }) => resource === attempt.limit && by !== 'none');
  return isHeld ? promised : 'open';
}

/** Holds what was seen to what was promised. An unclear outcome keeps no promise, not even one of `open`. */
export function judge(promised: Promised, { kind }: Seen): Judgement {
  if (kind === 'unclear') return 'not as promised';
  switch (promised) {
    case 'stopped':
      return kind === 'allowed' ? 'not as promised' : 'as promised';
    case 'killed':
      return kind === 'killed' ? 'as promised' : 'not as promised';
    case 'works':
      return kind === 'allowed' ? 'as promised' : 'not as promised';
    case 'open':
      return kind === 'allowed' ? 'as promised' : 'more';
  }
}
