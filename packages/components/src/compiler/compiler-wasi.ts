/** Gives the compiler, which is a component itself, the WASI that it is linked with. */

import { Mailbox } from '../guest/mailbox.ts';
import { offeredImports } from '../guest/offered-imports.ts';
import { OutputTail } from '../guest/streams.ts';

/**
 * The compiler gets no directory, no variable and nobody to ask. This takes the
 * place of the package that the compiler's module imports WASI from, under the names it imports.
 */
const imports = offeredImports(new Mailbox(), { directories: [], env: {}, seed: [0n, 0n], output: new OutputTail() });

type Interface = Readonly<Record<string, unknown>>;

function offered(name: string): Interface {
  return imports[`wasi:${name}`] ?? {};
}

export const environment: Interface = offered('cli/environment');
export const exit: Interface = offered('cli/exit');
export const stdin: Interface = offered('cli/stdin');
export const stdout: Interface = offered('cli/stdout');
export const stderr: Interface = offered('cli/stderr');
export const terminalInput: Interface = offered('cli/terminal-input');
export const terminalOutput: Interface = offered('cli/terminal-output');
export const terminalStdin: Interface = offered('cli/terminal-stdin');
export const terminalStdout: Interface = offered('cli/terminal-stdout');
export const terminalStderr: Interface = offered('cli/terminal-stderr');
export const preopens: Interface = offered('filesystem/preopens');
export const types: Interface = offered('filesystem/types');
export const error: Interface = offered('io/error');
export const streams: Interface = offered('io/streams');
export const random: Interface = offered('random/random');
