/** Says of a file what WASI wants to know: its kind, size and times. */

import type { BigIntStats, Dirent, Stats } from 'node:fs';

import { dateTime } from '../clocks.ts';
import { refuse } from './error-code.ts';

export type DescriptorType =
  | 'unknown'
  | 'block-device'
  | 'character-device'
  | 'directory'
  | 'fifo'
  | 'symbolic-link'
  | 'regular-file'
  | 'socket';

interface DateTime {
  readonly seconds: bigint;
  readonly nanoseconds: number;
}

export interface DescriptorStat {
  readonly type: DescriptorType;
  readonly linkCount: bigint;
  readonly size: bigint;
  readonly dataAccessTimestamp: DateTime;
  readonly dataModificationTimestamp: DateTime;
  readonly statusChangeTimestamp: DateTime;
}

export function descriptorType(entry: Stats | BigIntStats | Dirent<Buffer>): DescriptorType {
  if (entry.isFile()) return 'regular-file';
  if (entry.isDirectory()) return 'directory';
  if (entry.isSymbolicLink()) return 'symbolic-link';
  if (entry.isFIFO()) return 'fifo';
  if (entry.isSocket()) return 'socket';
  if (entry.isCharacterDevice()) return 'character-device';
  return entry.isBlockDevice() ? 'block-device' : 'unknown';
}

export function descriptorStat(stat: BigIntStats): DescriptorStat {
  return {
    type: descriptorType(stat),
    linkCount: stat.nlink,
    size: stat.size,
    dataAccessTimestamp: dateTime(stat.atimeNs),
    dataModificationTimestamp: dateTime(stat.mtimeNs),
    statusChangeTimestamp: dateTime(stat.ctimeNs),
  };
}

/** Equal for the same file, different for different ones. */
export function metadataHash(stat: BigIntStats): { readonly lower: bigint; readonly upper: bigint } {
  return { lower: BigInt.asUintN(64, stat.ino), upper: BigInt.asUintN(64, stat.dev) };
}

export type NewTimestamp =
  | { readonly tag: 'no-change' }
  | { readonly tag: 'now' }
  | { readonly tag: 'timestamp'; readonly val: DateTime };

/** Seconds, as Node sets times; `nowMs` in Unix milliseconds. */
export function newTime(wanted: NewTimestamp, unchangedNs: bigint, nowMs: number): number {
  switch (wanted.tag) {
    case 'no-change':
      return Number(unchangedNs) / 1e9;
    case 'now':
      return nowMs / 1000;
    case 'timestamp': {
      if (wanted.val.seconds > BigInt(Number.MAX_SAFE_INTEGER)) refuse('overflow');
      return Number(wanted.val.seconds) + wanted.val.nanoseconds / 1e9;
    }
  }
}
