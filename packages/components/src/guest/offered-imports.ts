/** Lists everything that a component may import, made for its grants. */

import type { GivenDirectory } from '../exchange.ts';
import { monotonicClock, wallClock } from './clocks.ts';
import { commandLine } from './command-line.ts';
import { filesystem } from './filesystem/filesystem.ts';
import { http } from './http/http.ts';
import { IoError, Pollable, waitForAny, type WaitingRoom } from './io.ts';
import type { Mailbox } from './mailbox.ts';
import type { OutputTail } from './output-tail.ts';
import { insecure, insecureSeed, random } from './random.ts';
import { runtimeImports } from './runtime-imports.ts';
import { InputStream, OutputStream } from './streams.ts';

/** By interface, without versions, then by name: `svc:text/chunks`, `emitChunk`. */
export type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface GuestGrants {
  readonly directories: readonly GivenDirectory[];
  readonly env: Readonly<Record<string, string>>;
  readonly seed: readonly [bigint, bigint];
  readonly output: OutputTail;
}

/** Everything a component may import, under its grants. */
export function offeredImports(mailbox: Mailbox, { directories, env, seed, output }: GuestGrants): Imports {
  const room: WaitingRoom = {
    now: () => process.hrtime.bigint(),
    sleep: (ms) => mailbox.sleep(ms),
    awaitRemote: (waits, timeoutMs) => mailbox.askRemote({ operation: 'wait', waits, timeoutMs }),
  };
  return {
    'wasi:io/error': { Error: IoError },
    'wasi:io/poll': { Pollable, poll: (pollables: readonly Pollable[]) => waitForAny(pollables, room) },
    'wasi:io/streams': { InputStream, OutputStream },
    'wasi:clocks/monotonic-clock': { ...monotonicClock(room) },
    'wasi:clocks/wall-clock': wallClock,
    'wasi:random/random': random,
    'wasi:random/insecure': insecure,
    'wasi:random/insecure-seed': { ...insecureSeed(seed) },
    ...commandLine({ env, output, room }),
    ...filesystem(directories, room),
    ...http(mailbox, room),
    ...runtimeImports(mailbox),
  };
}
