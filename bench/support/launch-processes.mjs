// @ts-check
// Starts processes that start contained programs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { bundleSubject } from './bundle.mjs';

const program = fileURLToPath(new URL('launch-process.mjs', import.meta.url));
const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

/**
 * A process of its own that launches `true`, contained or bare. All answer milliseconds a launch.
 * @typedef {{ contained(launches: number): Promise<number>, bare(launches: number): Promise<number>, first(commands: readonly string[]): Promise<number>, stop(): Promise<void> }} LaunchProcess
 * @param {{ wanted: 'sealed' | 'scoped', megabytes: number }} options `megabytes` is what its heap holds.
 * @returns {Promise<LaunchProcess>}
 */
export async function startLaunchProcess({ wanted, megabytes }) {
  const bundle = await bundleSubject('launch-subject.ts');
  const child = fork(program, [bundle.path, wanted, packageRoot, String(megabytes)], {
    execArgv: ['--max-old-space-size=4096'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk) => (said += chunk));
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the launching process ended with ${code}: ${said.trim()}`);
  });
  // A caller that waits for an answer sees the failure; others need not.
  ended.catch(() => {});
  /** @param {object} order */
  const ask = async (order) => {
    const answer = once(child, 'message');
    child.send(order);
    const [{ took }] = await Promise.race([answer, ended]);
    return /** @type {number} */ (took);
  };
  try {
    await Promise.race([once(child, 'message'), ended]);
  } finally {
    await bundle.remove();
  }
  return {
    contained: (launches) => ask({ launches }),
    bare: (launches) => ask({ bare: launches }),
    first: (commands) => ask({ first: commands }),
    stop: async () => {
      child.disconnect();
      await ended.catch(() => {});
    },
  };
}
