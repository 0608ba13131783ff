/** Makes the key with which a person on this machine answers the approvals of one session. */

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { keepPersonKey } from '@svc/record/running/person-key-file.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';

export interface PersonKey {
  readonly secret: Secret;
  /** Puts it beside the record of the session. Returns what takes it away. Throws the Diagnostic of what cannot be written. */
  keep(home: string, record: RunningRecord): () => void;
}

/** 256 random bits. No report, trace or journal holds them. */
export function makePersonKey({ redactor }: Pick<PreparedLaunch, 'redactor'>): PersonKey {
  const secret = new Secret(`svc_person_${Buffer.from(systemClock.randomBytes(32)).toString('base64url')}`);
  redactor.register(secret);
  return { secret, keep: (home, record) => keepPersonKey(home, record, secret) };
}
