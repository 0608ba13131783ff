// @ts-check
// Starts processes that start contained programs.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { bundleSubject } from './bundle.mjs';

const program = fileURLToPath(new URL('launch-process.mjs', import.meta.url));
const packageRoot = fileURLToPath(new URL('../../', import.meta.url));
const helper = `${packageRoot}dist/native/linux-${process.arch}/svc-launch`;
/** For `sh -c`, which has the number of times as its name. */
const again = 'i=0; while [ $i -lt $0 ]; do "$@" || exit; i=$((i+1)); done';

/**
 * A process of its own that launches `true`, contained or bare; `byShell` has a shell start the helper with the plan that it has made. All answer
 * milliseconds a launch.
 * @typedef {{ contained(launches: number): Promise<number>, byShell(launches: number): Promise<number>, bare(launches: number): Promise<number>, first(commands: readonly string[]): Promise<number>, stop(): Promise<void> }} LaunchProcess
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
  /** @type {ReturnType<typeof openPlan> | null} */
  let plan = null;
  return {
    contained: (launches) => ask({ launches }),
    byShell: async (launches) => {
      const { descriptors, command } = (plan ??= openPlan(child.pid ?? 0));
      const took = await commandMs(['sh', '-c', again, `${launches}`, ...command('/usr/bin/true')], { descriptors });
      return took / launches;
    },
    bare: (launches) => ask({ bare: launches }),
    first: (commands) => ask({ first: commands }),
    stop: async () => {
      child.disconnect();
      await ended.catch(() => {});
    },
  };
}

/**
 * The plan and the filter of the launches of a living process, files without a name that stay open here. `command` carries them out with a program, started
 * with them as the descriptors 3 and 4.
 * @param {number} pid Has launched something, always with the same plan.
 */
export function openPlan(pid) {
  const folder = `/proc/${pid}/fd`;
  const files = readdirSync(folder)
    .map((name) => `${folder}/${name}`)
    .filter((path) => readlinkSync(path).endsWith('/launch-template (deleted)'))
    .map((path) => ({ path, isPlan: readFileSync(path, 'latin1').startsWith('svc-launch-plan') }))
    .toSorted((a, b) => Number(b.isPlan) - Number(a.isPlan));
  if (files.map(({ isPlan }) => isPlan).join() !== 'true,false') throw new Error(`process ${pid} has no plan, or many`);
  return {
    descriptors: files.map(({ path }) => openSync(path, 'r')),
    command: (/** @type {string} */ program) => [helper, '3', '-', '4', '-', program, program],
  };
}

/**
 * @param {readonly string[]} command
 * @param {{ descriptors?: readonly number[], cwd?: string, env?: Record<string, string> }} options `descriptors` are its third and following ones.
 */
export async function commandMs([file = '', ...args], { descriptors = [], ...options }) {
  const began = performance.now();
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'ignore', 'inherit', ...descriptors] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  return performance.now() - began;
}
