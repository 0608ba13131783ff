/** Asks the kernel whose programs listen on a port of this machine. */

import { closeSync, openSync, readSync } from 'node:fs';

import { unlessRefused } from '@svc/kit/files/unless-refused.ts';

/** Sockets that listen are listed first: those of connections are not read. */
const maxRead = 4 * 1024 * 1024;
const pieceBytes = 64 * 1024;
const tables = ['/proc/net/tcp', '/proc/net/tcp6'] as const;

/** Where people begin to be numbered; below are services, root among them (login.defs). */
const firstPerson = 1000;
/** Users that systemd makes for a service while it runs. */
const dynamicServices = { first: 61_184, last: 65_519 } as const;

/**
 * The number of another person of this machine who listens at a loopback address, null where everybody who listens on its port is this user or
 * a service of the machine. Returns null too for any other address, and off Linux, where the kernel does not say.
 */
export function strangerAt(address: string, uid: number): number | null {
  const { hostname, port, protocol } = new URL(address);
  if (!/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)) return null;
  const wanted = Number(port === '' ? (protocol === 'https:' ? 443 : 80) : port);
  const owners = tables.flatMap((table) =>
    ownersIn(
      unlessRefused(() => startOf(table), ''),
      wanted,
    ),
  );
  return owners.find((owner) => owner !== uid && !isService(owner)) ?? null;
}

/** The owners of the sockets in a table of the kernel's that listen on this port, at a loopback address or at all of them. */
export function ownersIn(table: string, port: number): readonly number[] {
  return table.split('\n').flatMap((line) => {
    const [, at = '', on = '', uid = ''] = listening.exec(line) ?? [];
    return Number.parseInt(on, 16) === port && local.test(at) ? [Number(uid)] : [];
  });
}

const listening = /^ *\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F]+:0000 0A \S+ \S+ \S+ +(\d+) /;
/** Each four bytes of an address are a number of this machine, whose last byte comes first on all that `svc` runs on. */
const local = /^(?:0+|[0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F|0{16}FFFF00000{8})$/;

function isService(uid: number): boolean {
  return uid < firstPerson || (uid >= dynamicServices.first && uid <= dynamicServices.last);
}

/** A table may have a line for each connection of the machine. */
function startOf(table: string): string {
  const file = openSync(table, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let read = 0; read < maxRead;) {
      const piece = Buffer.allocUnsafe(pieceBytes);
      const count = readSync(file, piece, 0, pieceBytes, null);
      if (count === 0) break;
      pieces.push(piece.subarray(0, count));
      read += count;
    }
    return Buffer.concat(pieces).toString('latin1');
  } finally {
    closeSync(file);
  }
}
