/** Opens a session whose processes are not contained. */

import { join } from 'node:path';

import type { SessionContainment, SessionPlace } from './containment.ts';
import { createDirectLauncher } from './direct-launcher.ts';
import { PipeStock, namedPipes } from './pipe-stock.ts';

/** Starts the processes of one session where the kernel enforces nothing. */
export function openDirectSession({ workdir, privateDirectory }: SessionPlace): SessionContainment {
  const pipes = new PipeStock(namedPipes(privateDirectory));
  return {
    launcher: ({ scope }) => createDirectLauncher({ cwd: join(workdir, scope), refusesLinks: true, pipes }),
    close: () => pipes.close(),
  };
}
