import { readRunningRecords, type RunningRecord } from '../capsule/running-record.ts';
import { Diagnostic } from '../diagnostics/diagnostic.ts';

/** A running capsule a command talks to; `record` is null when only an address was given and no local session has it. */
export interface LocatedCapsule {
  /** `host:port` */
  readonly address: string;
  readonly record: RunningRecord | null;
  /** By an address, which another process may have taken since, or as a session. */
  readonly named: 'address' | 'session';
}

const shortestSuffix = 4;
const addressShape = /^(?:http:\/\/)?((?:\[[0-9a-fA-F:.]+\]|[^:/\s]+):(\d{1,5}))\/?$/;
const lastPort = 65_535;

/**
 * The capsule meant by a full session id, by a suffix of at least 4 characters, or by `host:port`; with none, the newest
 * running one (contracts §2). Throws `E-RUN-026` when there is none or the suffix fits several.
 */
export function locateCapsule(home: string, wanted: string | undefined): LocatedCapsule {
  const records = readRunningRecords(home);
  if (wanted === undefined) {
    const newest = records[0];
    if (newest === undefined) throw notFound('no capsule is running', 'start one with svc run');
    return { address: newest.url, record: newest, named: 'session' };
  }
  const address = addressOf(wanted);
  if (address !== null) {
    const record = records.find(({ url }) => isSameDoor(url, address)) ?? null;
    return { address, record, named: 'address' };
  }
  const matches = wanted.length < shortestSuffix ? [] : records.filter((record) => record.session_id.endsWith(wanted));
  const [match, another] = matches;
  if (another !== undefined) {
    const ids = matches.map((record) => record.session_id).join(', ');
    throw notFound(`${wanted} fits more than one session: ${ids}`, 'give more characters of the id');
  }
  if (match === undefined) throw notFound(`no running session is ${wanted}`, 'svc ps lists the running ones');
  return { address: match.url, record: match, named: 'session' };
}

/** `host:port`, also as it is pasted from a browser; null for anything else. */
function addressOf(wanted: string): string | null {
  const [, address, port] = addressShape.exec(wanted) ?? [];
  if (address === undefined) return null;
  if (Number(port) >= 1 && Number(port) <= lastPort) return address;
  throw notFound(`${wanted} has a port outside 1 to ${lastPort}`, 'svc ps lists the running ones');
}

const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Spelled alike, or the same port of this machine under two of its own names. */
function isSameDoor(url: string, wanted: string): boolean {
  const [one, other] = [splitAddress(url), splitAddress(wanted)];
  return one.port === other.port && (one.host === other.host || (isLoopback(one.host) && isLoopback(other.host)));
}

function splitAddress(address: string): { readonly host: string; readonly port: string } {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: address.slice(colon + 1) };
}

function isLoopback(host: string): boolean {
  return loopbackNames.has(host);
}

function notFound(message: string, hint: string): Diagnostic {
  return new Diagnostic('E-RUN-026', message, {
    hint: `${hint}; a session is named by its id, at least ${shortestSuffix} of its last characters, or host:port`,
  });
}
