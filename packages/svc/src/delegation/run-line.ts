import { quoted } from '@svc/kit/diagnostics/printable.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import { decodeRunLine } from '@svc/protocol/run-line.ts';

/** What a child says once its listener is up (D1 "Run result line"). */
export interface ChildLine {
  /** Of the child's `POST /`, on this machine. */
  readonly endpoint: URL;
}

/** What its parent told it to be. */
export interface ExpectedLine {
  readonly name: string;
  readonly version: string;
  readonly sessionId: SessionId;
}

export type RunLineReading =
  | { readonly kind: 'ready'; readonly line: ChildLine }
  /** `reason` is a clause for a person. */
  | { readonly kind: 'unusable'; readonly reason: string };

/** Reads the first line of a child. It has to be that of the capsule that was approved. */
export function parseRunLine(text: string, expected: ExpectedLine): RunLineReading {
  const line = decodeRunLine(text);
  if (line === null) return unusable(`the first line it printed is no JSON object: ${quoted(text)}`);
  const { url, pid, sessionId, name, version, workdir } = line;
  const port = localAddress.exec(url ?? '')?.[1] ?? null;
  if (port === null || Number(port) > 65_535) return unusable('the url of its first line is no port of this machine');
  if (sessionId !== expected.sessionId) return unusable('the session_id of its first line is not the one it was given');
  if (pid === null) return unusable('the pid of its first line is no number');
  if (workdir === null) return unusable('the workdir of its first line is missing');
  if (name !== expected.name || version !== expected.version) {
    return unusable(`its first line is not that of ${expected.name} ${expected.version}`);
  }
  // A name may stand for two addresses, and another program may listen at the other one.
  return { kind: 'ready', line: { endpoint: new URL(`http://127.0.0.1:${port}/`) } };
}

const localAddress = /^(?:localhost|127\.0\.0\.1):([1-9]\d{0,4})$/;

function unusable(reason: string): RunLineReading {
  return { kind: 'unusable', reason };
}
