import { fileURLToPath } from 'node:url';

import { onTestFinished } from 'vitest';

import { type ProgramEnd, ProgramProcess } from '../../../test/support/program-process.ts';
import { key } from './registry-kit.ts';

const program = fileURLToPath(new URL('../../../bin/svc-registry.cjs', import.meta.url));

/** A running `svc-registry`. It has nothing in its environment but what is given. */
export class RegistryProcess extends ProgramProcess {
  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}, from: string = program) {
    super(from, args, { env });
  }
}

/** Runs it to its end. */
export async function runRegistry(args: readonly string[], env: Readonly<Record<string, string>>): Promise<ProgramEnd> {
  return await new RegistryProcess(args, env).ended;
}

/** Starts a registry that serves a data directory, on a free port unless one is given. It is killed after the test. */
export async function startRegistry(
  data: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly process: RegistryProcess; readonly port: number }> {
  const process = new RegistryProcess(['--data', data], {
    REGISTRY_API_KEY: key,
    REGISTRY_BIND: '127.0.0.1:0',
    ...env,
  });
  onTestFinished(() => void process.child.kill('SIGKILL'));
  const [, port] = await process.complained(/listens on http:\/\/\S+:(\d+), /);
  return { process, port: Number(port) };
}
