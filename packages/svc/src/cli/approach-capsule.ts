import { setTimeout as delay } from 'node:timers/promises';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import type { DecodedCard } from '@svc/protocol/agent-card.ts';
import { faultOf, shownId } from './capsule-faults.ts';
import type { CommandContext } from './command-context.ts';
import type { LocatedCapsule } from './locate-capsule.ts';
import type { DoorOptions, Http } from '@svc/client/http-door.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { ownConnection } from '@svc/kit/net/own-connection.ts';

/** Where to call a capsule, and with which token. */
export interface ApproachedCapsule {
  /** `host:port` */
  readonly address: string;
  /** Undefined where none is set, and where it is not for this listener. */
  readonly token: string | undefined;
  /** Whether there is a token and it is kept back: the address is not one of this user's sessions. */
  readonly isTokenKept: boolean;
}

export interface TokenChoice {
  /** `SVC_LISTENER_TOKEN`; undefined or empty for none. */
  readonly token: string | undefined;
  /** `--send-token`: the user wants it sent to an address that is not one of their sessions. */
  readonly isSentAnywhere: boolean;
  /** What will be asked of it (D1 "Agent card"). */
  readonly method: string;
  /** For the card to arrive. */
  readonly timeoutMs: number;
}

/** Of the option that sets `isSentAnywhere`. */
export const sendTokenHelp = 'send SVC_LISTENER_TOKEN to a host:port that is not one of your sessions';

/** As the options of a command and the environment have it. */
export function tokenChoice(
  { env }: Pick<CommandContext, 'env'>,
  { sendToken = false, ...asked }: Pick<TokenChoice, 'method' | 'timeoutMs'> & { readonly sendToken?: boolean },
): TokenChoice {
  return { token: env['SVC_LISTENER_TOKEN'], isSentAnywhere: sendToken, ...asked };
}

/**
 * Decides who is told the listener token, before anything else is sent. A session of this user is asked for its card, which needs no token,
 * at the address it bound; where another one answers, this is `E-IO-004`. Any other address gets the token only when the user says so: whoever
 * listens there could keep it. `E-RUN-057` when the card says that `method` is not served. `E-IO-003` when no card can be had.
 */
export async function approachCapsule(
  { address, record }: LocatedCapsule,
  { token = '', isSentAnywhere, method, timeoutMs }: TokenChoice,
): Promise<ApproachedCapsule> {
  if (record === null) {
    const isTokenKept = token !== '' && !isSentAnywhere;
    return { address, token: token === '' || isTokenKept ? undefined : token, isTokenKept };
  }
  const card = await cardOf({ address, method, timeoutMs });
  if (card?.sessionId !== record.session_id) throw strangerAnswered(address, record.session_id, card?.sessionId);
  // A card without `serves` is of a runtime that told nobody what it serves; its answer will tell.
  if (card.serves !== null && !card.serves.methods.includes(method)) throw notServed(address, method);
  return { address, token: token === '' ? undefined : token, isTokenKept: false };
}

/** Null when what answers shows no card. */
async function cardOf({
  address,
  ...asked
}: Pick<TokenChoice, 'method' | 'timeoutMs'> & { readonly address: string }): Promise<DecodedCard | null> {
  try {
    return await new CapsuleClient(doorOf({ address, ...asked })).card();
  } catch (error) {
    if (error instanceof ClientError && error.code === 'bad-answer') return null;
    throw faultOf(error, { address, ...asked });
  }
}

function notServed(address: string, method: string): Diagnostic {
  return new Diagnostic('E-RUN-057', `the capsule at ${address} does not serve ${method}, as its card says`, {
    hint: 'use the version of svc that the capsule runs under',
  });
}

function strangerAnswered(address: string, wanted: string, answered: string | null | undefined): Diagnostic {
  const who =
    answered === undefined || answered === null ? 'something else answers' : `session ${shownId(answered)} answers`;
  return new Diagnostic('E-IO-004', `${who} at ${address}, where ${wanted} is to listen; it was sent nothing`, {
    hint: 'svc ps lists the running capsules',
  });
}

/** Waits between attempts right after a capsule's port is bound (D1 "Command line" 4). */
const backOffMs = [50, 100, 200, 400];
/** What listens there may never stop answering. */
const mostAnswerBytes = 4 * 1024 * 1024;

interface CapsuleDoor {
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
