/** Reads what a session began with: its capsule, its containment and all that it was granted. */

import type { JsonObject } from '@svc/protocol/json-object.ts';
import type { GrantedScope, SessionStart } from '../messages.ts';
import { countOrNull, objectIn, objectsIn, textIn, textOrNull, textsIn } from '../trace/checked.ts';

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
    tools: textsIn(event['tools_declared'], 200),
    grants: scopeOf(objectIn(event['effective_grants'])),
  };
}

function scopeOf(grants: JsonObject): GrantedScope {
  const { path, writable } = objectIn(grants['project_folder']);
  return {
    filesystemScope: textOrNull(grants['filesystem_scope'], 300),
    flags: textsIn(
      Object.keys(grants).filter((name) => grants[name] === true),
      100,
      60,
    ),
    network: textsIn(grants['network_allow']),
    shell: textsIn(grants['shell_allow']),
    spawn: textsIn(grants['spawn_allow']),
    env: textsIn(grants['env_allow']),
    preopens: objectsIn(grants['preopens']).map((each) => ({
      artifact: textIn(each['artifact'], 100),
      runtime: textIn(each['runtime'], 20),
      path: textOrNull(each['path'], 300),
      isWritable: each['writable'] === true,
      stores: textsIn(each['state'], 50, 60),
    })),
    limits: objectsIn(grants['limits'], 20).map((each) => ({
      resource: textIn(each['resource'], 30),
      of: textIn(each['of'], 30),
      max: countOrNull(each['max']),
      heldBy: textIn(each['held_by'], 30),
    })),
    projectFolder: typeof path === 'string' ? { path: path.slice(0, 300), isWritable: writable === true } : null,
  };
}
