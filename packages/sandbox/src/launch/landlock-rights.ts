/** Knows the rights of Landlock, and which version has which. */

import type { LandlockRules } from './launch-plan.ts';

/** Rights on files, as the kernel numbers them. */
const right = {
  execute: 1n << 0n,
  writeFile: 1n << 1n,
  readFile: 1n << 2n,
  readDirectory: 1n << 3n,
  removeDirectory: 1n << 4n,
  removeFile: 1n << 5n,
  makeCharacterDevice: 1n << 6n,
  makeDirectory: 1n << 7n,
  makeRegular: 1n << 8n,
  makeSocket: 1n << 9n,
  makeFifo: 1n << 10n,
  makeBlockDevice: 1n << 11n,
  makeSymlink: 1n << 12n,
  refer: 1n << 13n,
  truncate: 1n << 14n,
  ioctlDevice: 1n << 15n,
} as const;

const upTo = (last: bigint): bigint => (last << 1n) - 1n;

/** The first version that keeps a process from signaling others and from reaching abstract sockets of the host. */
export const leastAbiForScoped = 6;

/**
 * The versions at which the kernel learned new rights, newest first; between them nothing changes here. Before the last of them a file
 * could be emptied unseen.
 */
export const landlockAbis: readonly number[] = [6, 5, 4, 3];

/** Everything this version can refuse is refused unless a rule allows it. */
export function handledRights(abi: number): LandlockRules['handled'] {
  return {
    filesystem: upTo(abi >= 5 ? right.ioctlDevice : right.truncate),
    network: abi >= 4 ? tcpRight.bind | tcpRight.connect : 0n,
    // Abstract sockets, signals.
    scope: abi >= 6 ? 3n : 0n,
  };
}

export const tcpRight = { bind: 1n, connect: 2n } as const;

const read = right.readFile | right.readDirectory;

/** What a rule may allow below a path. */
export const fileRights = {
  read,
  execute: read | right.execute,
  write:
    read |
    right.writeFile |
    right.truncate |
    right.removeFile |
    right.removeDirectory |
    right.makeDirectory |
    right.makeRegular |
    right.makeFifo |
    right.makeSymlink |
    right.refer,
  makeSocket: right.makeSocket,
  device: right.readFile | right.writeFile | right.truncate | right.ioctlDevice,
  runHere: right.execute,
} as const;
