import { fileURLToPath } from 'node:url';

import { onTestFinished } from 'vitest';

import { type ProgramEnd, ProgramProcess } from '../../../test/support/program-process.ts';

const program = fileURLToPath(new URL('../../../bin/svc-referee.cjs', import.meta.url));

export interface Started {
  readonly process: ProgramProcess;
  readonly port: number;
}

/** Runs `svc-referee` to its end, with nothing in its environment but what is given. */
export async function runReferee(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramEnd> {
  return await start(args, env).ended;
}

/** Starts a referee on a free port. It is killed after the test. */
export async function startReferee(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<Started> {
  const process = start(['--port', '0', ...args], options.env ?? {}, options.cwd);
  const [, port] = await process.printed(/ listens on 127\.0\.0\.1:(\d+), .*\n.*\n/);
  return { process, port: Number(port) };
}

function start(args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string): ProgramProcess {
  const started = new ProgramProcess(program, args, { env, ...(cwd === undefined ? {} : { cwd }) });
  onTestFinished(() => void started.child.kill('SIGKILL'));
  return started;
}
