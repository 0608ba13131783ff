/** Reads what a session began with: its capsule and its containment. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { SessionStart } from '@svc/protocol/viewed-rows.ts';
import { objectIn, textIn } from './checked.ts';

/** Of a `session_start`; what is missing or of another form is empty. */
export function startOfSession(event: JsonObject): SessionStart {
  const capsule = objectIn(event['capsule']);
  const containment = objectIn(event['containment']);
  return {
    sessionId: textIn(event['session_id'], 128),
    capsule: textIn(capsule['name'], 100),
    version: textIn(capsule['version'], 40),
    declared: textIn(containment['declared'], 20),
    achieved: textIn(containment['achieved'], 20),
    mechanism: textIn(containment['mechanism'], 100),
  };
}
