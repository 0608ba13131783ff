/** Gives components their variables and standard streams (`wasi:cli`). */

import type { WaitingRoom } from './io.ts';
import type { OutputTail } from './output-tail.ts';
import { HostObject } from './retained.ts';
import { endedSource, InputStream, OutputStream } from './streams.ts';

/** Thrown through the guest when it asks to exit: the instance is over. */
export class GuestExit extends Error {
  constructor(status: 'success' | 'failure' | number) {
    super(`the component called exit (${status})`);
    this.name = 'GuestExit';
  }
}

/** Nobody is given one. */
class Terminal extends HostObject {}

interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly output: OutputTail;
  readonly room: WaitingRoom;
}

/** `wasi:cli`, by interface: the given variables and no others, no arguments, an empty stdin, no terminal. */
export function commandLine({
  env,
  output,
  room,
}: Surroundings): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const writer = (): OutputStream => new OutputStream(output.sink(), room);
  return {
    'wasi:cli/environment': {
      getEnvironment: () => Object.entries(env),
      getArguments: () => [],
      initialCwd: () => undefined,
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
