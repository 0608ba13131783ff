import { setTimeout as delay } from 'node:timers/promises';

import type { DoorOptions, Http } from '@svc/client/http-door.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { ownConnection } from '@svc/kit/net/own-connection.ts';

/** Waits between attempts right after a capsule's port is bound (D1 "Command line" 4). */
const backOffMs = [50, 100, 200, 400];
/** What listens there may never stop answering. */
const mostAnswerBytes = 4 * 1024 * 1024;

export interface CapsuleDoor {
  /** `host:port` */
  readonly address: string;
  /** Sent as a bearer token when the capsule requires one (`SVC_LISTENER_TOKEN`). */
  readonly token?: string | undefined;
  /** For a whole answer; without it one is waited for for ever, and what comes of it too. */
  readonly timeoutMs?: number;
}

type Wait = (ms: number) => Promise<unknown>;

/** How a command asks a capsule: on connections of their own, which are tried again while the port is not there yet. */
export function doorOf({ address, token, timeoutMs: ms = Number.POSITIVE_INFINITY }: CapsuleDoor): DoorOptions {
  const limits = { callMs: ms, idleMs: ms, mostAnswerBytes };
  return { url: address, token, limits, fetch: patientConnections() };
}

export function patientConnections(wait: Wait = delay): Http {
  return async (url, asked) => {
    for (const waitMs of [...backOffMs, null]) {
      try {
        return await ownConnection(url, asked);
      } catch (error) {
        if (errorCode(error) !== 'ECONNREFUSED' || waitMs === null) throw error;
        await wait(waitMs);
      }
    }
    throw new Error('the last attempt returns or throws');
  };
}
