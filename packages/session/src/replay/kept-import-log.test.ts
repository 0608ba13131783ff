import { expect, it } from 'vitest';

import type { ImportLogEntry } from '@svc/components/import-log.ts';
import { keptLog } from './kept-import-log.ts';

const secret = 'canary-0123';
const redact = (text: string): string => text.replaceAll(secret, '[secret]');
const stream = { $r: [1, 'wasi:io/streams#InputStream'] } as const;

function read(...pieces: readonly object[]): string {
  return JSON.stringify(
    pieces.map((ok): ImportLogEntry => ['wasi:io/streams#InputStream.read', [stream], { ok } as ImportLogEntry[2]]),
  );
}

it('keptLog keeps a log as it is where no secret is in it', () => {
  const log = read({ $t: 'one' }, { $b: Buffer.from([0xff, 0x41]).toString('base64') });
  expect(keptLog(log, redact, 1000)).toBe(log);
});

it('keptLog takes a secret out of what was read and asked', () => {
  expect(keptLog(read({ $t: `a ${secret} b` }), redact, 1000)).toBe(read({ $t: 'a [secret] b' }));
});

it('keptLog keeps nothing where a secret lies across two reads of a stream', () => {
  expect(keptLog(read({ $t: 'a canary-' }, { $t: '0123 b' }), redact, 1000)).toBeNull();
});

it('keptLog keeps nothing where a secret lies in bytes that are no text', () => {
  const bytes = Buffer.concat([Buffer.from([0xff]), Buffer.from(secret)]);
  expect(keptLog(read({ $b: bytes.toString('base64') }), redact, 1000)).toBeNull();
});

it('keptLog keeps nothing of what is no log, or longer than what is left', () => {
  expect(keptLog('[7]', redact, 1000)).toBeNull();
  expect(keptLog('[', redact, 1000)).toBeNull();
  expect(keptLog('[["a",[],{"ok":1}]]', redact, 5)).toBeNull();
});

it('keptLog keeps nothing that is longer than what is left once a secret is taken out', () => {
  const log = read({ $t: 'canary-0123' });
  const longer = (text: string): string => text.replaceAll(secret, 'x'.repeat(50));
  expect(keptLog(log, longer, log.length + 39)).not.toBeNull();
  expect(keptLog(log, longer, log.length + 38)).toBeNull();
});
