import { readRunningRecords, type RunningRecord } from '../capsule/running-record.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';

/** A running capsule a command talks to; `record` is null when only an address was given and no session of this user is bound to it. */
export interface LocatedCapsule {
  /** `host:port` to connect to: of a session of this user the very address that it bound. */
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
 * running one (docs/cli.md "svc stop"). Throws `E-RUN-026` when there is none or the suffix fits several.
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
  const matches = wanted.length < shortestSuffix ? [] : records.filter((record) => record.session_id.endsWith(wanted));
  const [match, another] = matches;
  if (another !== undefined) {
    const ids = matches.map((record) => record.session_id).join(', ');
    throw notFound(`${wanted} fits more than one session: ${ids}`, 'give more characters of the id');
  }
  if (match === undefined) throw notFound(`no running session is ${wanted}`, 'svc ps lists the running ones');
  return located(match, 'session');
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
