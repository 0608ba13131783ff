/** What a launch does that a parent capsule started: reads its approval and ends with the parent. */

import type { Readable } from 'node:stream';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isMapOf, isText } from '@svc/kit/guards.ts';
import { isAlive, processStart } from '@svc/kit/process-stat.ts';
import { whenGone } from '@svc/kit/when-gone.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import { isRefereeToken, maxToken } from '@svc/protocol/referee-messages.ts';
import { ChildKey } from '@svc/session/delegation/child-key.ts';

/** An approval is one line of some hundred characters; the variables of telemetry may be longer. */
const maxBytes = 128 * 1024;
/** A parent writes it at once and closes the stream. */
const maxMs = 10_000;

/** What a parent writes to a child's standard input. */
interface SpawnInput {
  readonly approval: Secret;
  /** The variables that say where telemetry goes, which are in no environment; null where the parent sends none. */
  readonly telemetryEnv: Environment | null;
  /** By which the parent knows who asks it for approvals; null where it is not to ask. */
  readonly askKey: ChildKey | null;
}

/**
 * The approval that a parent writes to a child's standard input and closes (D2 "Authentication" 2); a second line has the variables of telemetry
 * as JSON or is empty, a third the key for questions. Throws `E-RUN-039` without an approval.
 */
export async function readSpawnApproval(stdin: Readable): Promise<SpawnInput> {
  const deadline = AbortSignal.timeout(maxMs);
  const onDeadline = (): void => void stdin.destroy(new Error('it did not end in time'));
  deadline.addEventListener('abort', onDeadline);
  let text = '';
  try {
    for await (const chunk of stdin.setEncoding('utf8') as AsyncIterable<string>) {
      text += chunk;
      if (text.length > maxBytes) throw new Error('it is too long');
    }
  } catch (error) {
    throw noApproval(error instanceof Error ? error.message : String(error));
  } finally {
    deadline.removeEventListener('abort', onDeadline);
  }
  const [approval = '', variables = '', key = '', ...rest] = text.trim().split('\n');
  if (approval.length > maxToken) throw noApproval('it is too long');
  const telemetryEnv = variables === '' ? null : variablesIn(variables);
  const askKey = ChildKey.parse(key);
  const isOdd = (key !== '' && askKey === null) || rest.length > 0 || telemetryEnv === undefined;
  if (!isRefereeToken(approval) || isOdd) {
    throw noApproval(approval === '' ? 'it is empty' : 'it is not a token');
  }
  return { approval: new Secret(approval), telemetryEnv, askKey };
}

const isVariables = isMapOf(isText);
const maxVariables = 256;

/** Returns undefined for anything else. */
function variablesIn(json: string): Environment | undefined {
  const parsed = parseJsonText(json, maxVariables, 1);
  return parsed.kind === 'json' && isVariables(parsed.value) ? parsed.value : undefined;
}

function noApproval(reason: string): Diagnostic {
  return new Diagnostic('E-RUN-039', `no approval can be read from standard input: ${reason}`, {
    hint: '--spawn-approval-stdin is for parent capsules; leave it out to run the capsule by hand',
  });
}

interface WatchedParent {
  readonly isThere: () => boolean;
  readonly end: () => void;
}

/**
 * Calls `onGone` once the process that started this one has ended, however it ended: a child does not outlive its parent. The watch
 * keeps no process up.
 */
export function watchParent(pid: number, onGone: () => void): WatchedParent {
  const start = processStart(pid);
  const isDirect = process.ppid === pid;
  // Without /proc the system at least gives an orphan another parent.
  const isThere = (): boolean => isAlive(pid, start) && !(isDirect && process.ppid !== pid);
  return { isThere, end: whenGone(isThere, onGone) };
}
