/** The line of JSON that `svc run --json` prints once it listens. */

import { parseJsonObject, stringOr } from './json-object.ts';

/** The line that `svc run --json` writes once its listener is up (D1 "Run result line"). */
export interface RunLine {
  /** `localhost:<port>` */
  readonly url: string;
  readonly pid: number;
  readonly sessionId: string;
  readonly name: string;
  readonly version: string;
  /** Absolute. */
  readonly workdir: string;
}

/** The line as JSON, without its end. */
export function encodeRunLine({ url, pid, sessionId, name, version, workdir }: RunLine): string {
  return JSON.stringify({ url, pid, session_id: sessionId, name, version, workdir });
}

/** What a line says; null for each key that is missing or of another form, and for a line that is no JSON object. The caller bounds its length. */
export function decodeRunLine(text: string): { readonly [Key in keyof RunLine]: RunLine[Key] | null } | null {
  const fields = parseJsonObject(text);
  if (fields === null) return null;
  const { url, pid, session_id: sessionId, name, version, workdir } = fields;
  return {
    url: stringOr(url, null),
    pid: typeof pid === 'number' && Number.isSafeInteger(pid) ? pid : null,
    sessionId: stringOr(sessionId, null),
    name: stringOr(name, null),
    version: stringOr(version, null),
    workdir: stringOr(workdir, null),
  };
}
