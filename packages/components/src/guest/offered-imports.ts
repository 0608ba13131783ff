/** Lists everything that a component may import, made for its grants: variables, streams and random numbers among them. */

import { randomBytes } from 'node:crypto';

import { changeFunction, type GivenDirectory, refusedFileFunction } from '../exchange.ts';
import { monotonicClock, systemClock, wallClock } from './clocks.ts';
import { filesystem } from './filesystem/filesystem.ts';
import { http } from './http/http.ts';
import { IoError, Pollable, waitForAny, type WaitingRoom } from './io.ts';
import type { Mailbox } from './mailbox.ts';
import { type OutputTail, InputStream, OutputStream, endedSource } from './streams.ts';
import { runtimeImports } from './runtime-imports.ts';
import { HostObject } from './retained.ts';
import type { Imports } from './named-imports.ts';

interface GuestGrants {
  readonly directories: readonly GivenDirectory[];
  readonly env: Readonly<Record<string, string>>;
  readonly seed: readonly [bigint, bigint];
  readonly output: OutputTail;
  /** Whether the session is asked about each change of a file. */
  readonly asksChanges?: boolean | undefined;
}

/** Everything a component may import, under its grants. */
export function offeredImports(mailbox: Mailbox, grants: GuestGrants): Imports {
  const { directories, env, seed, output, asksChanges = false } = grants;
  const room: WaitingRoom = {
    now: () => process.hrtime.bigint(),
    sleep: (ms) => mailbox.sleep(ms),
    awaitRemote: (waits, timeoutMs) => {
      const asked = waits.map(({ exchange, event }) => ({ exchange, event }));
      const { over, arrival } = mailbox.askRemote({ operation: 'wait', waits: asked, timeoutMs, takes: true });
      if (arrival !== null) waits[over[0] ?? 0]?.keep(arrival);
      return over;
    },
  };
  return {
    'wasi:io/error': { Error: IoError },
    'wasi:io/poll': { Pollable, poll: (pollables: readonly Pollable[]) => waitForAny(pollables, room) },
    'wasi:io/streams': { InputStream, OutputStream },
    'wasi:clocks/monotonic-clock': { ...monotonicClock(room) },
    'wasi:clocks/system-clock': systemClock,
    'wasi:clocks/wall-clock': wallClock,
    'wasi:random/random': random,
    'wasi:random/insecure': insecure,
    'wasi:random/insecure-seed': { ...insecureSeed(seed) },
    ...commandLine(env, output, room),
    ...filesystem(directories, room, {
      onRefused: refusals(mailbox),
      mayChange: asksChanges ? (change) => mailbox.askRuntime(changeFunction, [change]).tag === 'ok' : null,
    }),
    ...http(mailbox, room),
    ...runtimeImports(mailbox),
  };
}

/** A component may ask as often as it likes: refusals beyond these are not reported. */
const maxRefusalsTold = 256;
/** Characters of any path that leads somewhere. A component may ask for one as long as its memory. */
const maxPathTold = 4_096;

function refusals(mailbox: Mailbox): (path: string, code: string) => void {
  let told = 0;
  return (path, code) => {
    told += 1;
    if (told <= maxRefusalsTold) mailbox.post(refusedFileFunction, [path.slice(0, maxPathTold), code]);
  };
}

/** Thrown through the guest when it asks to exit: the instance is over. */
class GuestExit extends Error {
  constructor(status: 'success' | 'failure' | number) {
    super(`the component called exit (${status})`);
    this.name = 'GuestExit';
  }
}

/** Nobody is given one. */
class Terminal extends HostObject {}

/** `wasi:cli`, by interface: the given variables and no others, no arguments, an empty stdin, no terminal. */
function commandLine(
  env: Readonly<Record<string, string>>,
  output: OutputTail,
  room: WaitingRoom,
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const writer = (): OutputStream => new OutputStream(output.sink(), room);
  return {
    'wasi:cli/environment': {
      getEnvironment: () => Object.entries(env),
      getArguments: () => [],
      initialCwd: () => undefined,
      // Its name in WASI 0.3.
      getInitialCwd: () => undefined,
    },
    'wasi:cli/exit': {
      exit: (status: { readonly tag: 'ok' | 'err' }) => {
        throw new GuestExit(status.tag === 'ok' ? 'success' : 'failure');
      },
      exitWithCode: (code: number) => {
        throw new GuestExit(code);
      },
    },
    'wasi:cli/stdin': { getStdin: () => new InputStream(endedSource, room) },
    'wasi:cli/stdout': { getStdout: writer },
    'wasi:cli/stderr': { getStderr: writer },
    'wasi:cli/terminal-input': { TerminalInput: Terminal },
    'wasi:cli/terminal-output': { TerminalOutput: Terminal },
    'wasi:cli/terminal-stdin': { getTerminalStdin: () => undefined },
    'wasi:cli/terminal-stdout': { getTerminalStdout: () => undefined },
    'wasi:cli/terminal-stderr': { getTerminalStderr: () => undefined },
  };
}

const maxBytes = 16n * 1024n * 1024n;

function bytes(length: bigint): Uint8Array {
  if (length > maxBytes) throw new Error(`more than ${maxBytes} random bytes were asked for at once`);
  return randomBytes(Number(length));
}

function number64(): bigint {
  return Buffer.from(bytes(8n)).readBigUInt64LE();
}

/** `wasi:random/random` */
export const random = { getRandomBytes: bytes, getRandomU64: number64 };

/** `wasi:random/insecure`: as good as the secure one. */
const insecure = { getInsecureRandomBytes: bytes, getInsecureRandomU64: number64 };

/** `wasi:random/insecure-seed`: most components ask at their start, so the session has made one ready. */
function insecureSeed(seed: readonly [bigint, bigint]): Readonly<Record<string, () => [bigint, bigint]>> {
  const made = (): [bigint, bigint] => [...seed];
  // The second is its name in WASI 0.3.
  return { insecureSeed: made, getInsecureSeed: made };
}
