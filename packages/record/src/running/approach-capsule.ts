/** Finds a running capsule and decides whether it gets the listener token. */

import { basename, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { ClientError } from '@svc/client/client-error.ts';
import type { DoorOptions, Http } from '@svc/client/http-door.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { processStat } from '@svc/kit/process-stat.ts';
import { ownConnection } from '@svc/kit/net/connections.ts';
import type { DecodedCard } from '@svc/protocol/agent-card.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { readRunningRecords, type RunningRecord } from '../sessions/running-record.ts';
import { severalFit, shortestSuffix } from '../sessions/session-names.ts';
import { faultOf, shownId } from './capsule-faults.ts';

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
  /** `SVC_LISTENER_TOKEN`; undefined or empty without one. */
  readonly token: string | undefined;
  /** `--send-token`: the user wants it sent to an address that is not one of their sessions. */
  readonly isSentAnywhere: boolean;
  /** What will be asked of it (D1 "Agent card"). */
  readonly method: string;
  /** The time for the card to arrive. */
  readonly timeoutMs: number;
}

/** The help of the option that sets `isSentAnywhere`. */
export const sendTokenHelp = 'send SVC_LISTENER_TOKEN to a host:port that is not one of your sessions';

/** Reads from the options of a command and the environment which token there is and who may get it. */
export function tokenChoice(
  { env }: { readonly env: Readonly<Record<string, string | undefined>> },
  { sendToken = false, ...asked }: Pick<TokenChoice, 'method' | 'timeoutMs'> & { readonly sendToken?: boolean },
): TokenChoice {
  return { token: env['SVC_LISTENER_TOKEN'], isSentAnywhere: sendToken, ...asked };
}

/**
 * Decides who gets the listener token, before anything else is sent. A session of this user is asked for its card, which needs no token,
 * at the address it bound; where another one answers, this is `E-IO-004`. Any other address gets the token only when the user says so: the program that
 * listens there could keep it. `E-RUN-057` when the card says that `method` is not served. `E-IO-003` when no card can be had, and for a
 * process that is suspended, which would answer nobody.
 */
export async function approachCapsule(
  { address, record }: LocatedCapsule,
  { token = '', isSentAnywhere, method, timeoutMs }: TokenChoice,
): Promise<ApproachedCapsule> {
  if (record === null) {
    const isTokenKept = token !== '' && !isSentAnywhere;
    return { address, token: token === '' || isTokenKept ? undefined : token, isTokenKept };
  }
  if (isSuspended(record.pid)) throw suspended(address, record.pid);
  const card = await cardOf({ address, method, timeoutMs });
  if (card?.sessionId !== record.session_id) throw strangerAnswered(address, record.session_id, card?.sessionId);
  // A runtime whose card has no `serves` shows by its answer what it serves.
  if (card.serves !== null && !card.serves.methods.includes(method)) throw notServed(address, method);
  return { address, token: token === '' ? undefined : token, isTokenKept: false };
}

/** Returns null when what answers shows no card. */
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

/** Whether a process waits for SIGCONT, as after Ctrl+Z; false if the system does not say. */
function isSuspended(pid: number): boolean {
  return processStat(pid)[0] === 'T';
}

function suspended(address: string, pid: number): Diagnostic {
  return new Diagnostic('E-IO-003', `the capsule at ${address} cannot answer: its process ${pid} is suspended`, {
    hint: `fg in its terminal, or kill -CONT ${pid}, lets it go on`,
  });
}

function notServed(address: string, method: string): Diagnostic {
  return new Diagnostic('E-RUN-057', `the capsule at ${address} does not serve ${method}, as its card says`, {
    hint: 'use the version of svc that the capsule runs under',
  });
}

function strangerAnswered(address: string, wanted: string, answered: string | null | undefined): Diagnostic {
  const who = answered === undefined || answered === null ? 'another program' : `session ${shownId(answered)}`;
  return new Diagnostic('E-IO-004', `${address} is used by ${who}, not by ${wanted}; nothing was sent`, {
    hint: 'svc ps lists the running capsules',
  });
}

/** Waits between attempts right after a capsule's port is bound (D1 "Command line" 4). */
const backOffMs = [50, 100, 200, 400];
/** What listens there may never stop answering. */
const maxAnswerBytes = 4 * 1024 * 1024;

interface CapsuleAddress {
  /** `host:port` */
  readonly address: string;
  /** Sent as a bearer token when the capsule requires one (`SVC_LISTENER_TOKEN`). */
  readonly token?: string | undefined;
  /** The time for a whole answer; without it the command waits for ever. */
  readonly timeoutMs?: number;
}

type Wait = (ms: number) => Promise<unknown>;

/** How a command asks a capsule: on connections of their own, which are tried again while the port is not there yet. */
export function doorOf({ address, token, timeoutMs: ms = Number.POSITIVE_INFINITY }: CapsuleAddress): DoorOptions {
  const limits = { callMs: ms, idleMs: ms, maxAnswerBytes };
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

/** A running capsule a command talks to; `record` is null when only an address was given and no session of this user is bound to it. */
export interface LocatedCapsule {
  /** `host:port` to connect to: of a session of this user the very address that it bound. */
  readonly address: string;
  readonly record: RunningRecord | null;
  /** Whether the user named an address, which another process may have taken since, or a session. */
  readonly named: 'address' | 'session';
}

const addressShape = /^(?:http:\/\/)?((?:\[[0-9a-fA-F:.]+\]|[^:/\s]+):(\d{1,5}))\/?$/;
const lastPort = 65_535;

/**
 * The capsule meant by a full session id, by a suffix of at least 4 characters, by `host:port`, or by the path of its folder; with
 * none, the newest running one (docs/cli.md "svc stop"). Throws `E-RUN-026` if none fits, `E-RUN-091` when the suffix fits several.
 */
export function locateCapsule(home: string, wanted: string | undefined): LocatedCapsule {
  const records = readRunningRecords(home);
  if (wanted === undefined) {
    const newest = records[0];
    if (newest === undefined) throw notFound('no capsule is running', 'start one with svc run');
    return located(newest, 'session');
  }
  const address = addressOf(wanted);
  if (address !== null) {
    const bound = records.find((record) => isBoundTo(record.address, address));
    return bound === undefined ? { address, record: null, named: 'address' } : located(bound, 'address');
  }
  const suffix = suffixIn(wanted);
  const matches = suffix.length < shortestSuffix ? [] : records.filter(({ session_id: id }) => id.endsWith(suffix));
  const [match, another] = matches;
  if (another !== undefined) {
    throw severalFit(
      wanted,
      matches.map((record) => record.session_id),
    );
  }
  if (match === undefined)
    throw notFound(
      `no running session is ${wanted}`,
      'svc ps lists the running ones, svc sessions those that have ended too',
    );
  return located(match, 'session');
}

/** The end of an id that is meant: a list puts `…` before it, and the folders of a session have its id as their name. */
function suffixIn(wanted: string): string {
  if (!wanted.includes('/') && !/^\.{1,2}$/.test(wanted)) return wanted.replace(/^…/, '');
  const name = basename(resolve(wanted));
  return isSessionId(name) ? name : '';
}

/** `host:port`, also as it is pasted from a browser; null for anything else. */
function addressOf(wanted: string): string | null {
  const [, address, port] = addressShape.exec(wanted) ?? [];
  if (address === undefined) return null;
  if (Number(port) >= 1 && Number(port) <= lastPort) return address;
  throw notFound(`${wanted} has a port outside 1 to ${lastPort}`, 'svc ps lists the running ones');
}

/** Bound to every address of the machine, a listener is reached by the loopback address of its family. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

function located(record: RunningRecord, named: LocatedCapsule['named']): LocatedCapsule {
  const { host, port } = splitAddress(record.address);
  return { address: `${loopbackOf[host] ?? host}:${port}`, record, named };
}

/** What a listener bound to an address answers to beside that address itself. `localhost` may be either family's. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  '127.0.0.1': ['localhost'],
  '[::1]': ['localhost'],
  '0.0.0.0': ['localhost', '127.0.0.1'],
  '[::]': ['localhost', '127.0.0.1', '[::1]'],
};

/** Whether `wanted` is an address that a listener bound to `bound` answers on; another process may have the same port of another address. */
function isBoundTo(bound: string, wanted: string): boolean {
  const [own, other] = [splitAddress(bound), splitAddress(wanted.toLowerCase())];
  return own.port === other.port && (own.host === other.host || (otherNames[own.host]?.includes(other.host) ?? false));
}

function splitAddress(address: string): { readonly host: string; readonly port: string } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: address.slice(colon + 1) };
}

function notFound(message: string, hint: string): Diagnostic {
  return new Diagnostic('E-RUN-026', message, {
    hint: `${hint}; a session is named by its id, at least ${shortestSuffix} of its last characters, or host:port`,
  });
}
