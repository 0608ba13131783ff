/** Runs the program of an operator that hears of a session (docs/boundary.md "Notifications"). */

import { type ChildProcess, spawn } from 'node:child_process';
import { isAbsolute, join } from 'node:path';

import type { Target } from '@svc/doors/a2a/push/operator-targets.ts';
import type { Clock } from '@svc/kit/clock.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { isBeneath, realPath } from '@svc/kit/files/resolve-beneath.ts';
import { signalGroup } from '@svc/sandbox/child-group.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';

const withinMs = 10_000;
/** What it gets of the variables of `svc`: where programs are, who runs it, and where the desktop is. */
const variables = 'PATH HOME USER LANG DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR'.split(' ');

interface OperatorCommand {
  /** The words, of which the first is a name on `PATH` or an absolute path. */
  readonly command: readonly string[];
  /** Where it runs. */
  readonly home: string;
  /** The process environment. */
  readonly env: Environment;
  /** The folders that the capsule writes to, absolute: nothing is run that lies there. */
  readonly written: readonly string[];
  readonly clock: Pick<Clock, 'after'>;
}

/** A program that gets the JSON on its standard input. It and its process group are over within ten seconds. */
export function commandTarget({ command, home, env: own, written, clock }: OperatorCommand): Target {
  const [name = '', ...args] = command;
  const env = Object.fromEntries(variables.flatMap((key) => (own[key] === undefined ? [] : [[key, own[key]]])));
  const folders = written.map(realPath);
  const send = async (body: Uint8Array, signal: AbortSignal): Promise<string | null> => {
    const found = findProgram(name, env['PATH'] ?? '');
    if (found.kind === 'refused') return found.reason;
    // The links are followed now, and not once more by the system.
    const program = realPath(found.path);
    const paths = [program, ...args.filter((word) => isAbsolute(word)), join(home, '.svc', 'config.yaml')];
    const open = paths.find((path) => folders.some((folder) => isBeneath(folder, realPath(path))));
    if (open !== undefined) return `the capsule may write to ${open}`;
    try {
      const stdio = ['pipe', 'ignore', 'ignore'] as const;
      const child = spawn(program, args, { argv0: name, cwd: home, env, detached: true, stdio: [...stdio] });
      return await endOf(child, { body, signal, clock });
    } catch (error) {
      if (!isSystemError(error)) throw error;
      return systemReason(error);
    }
  };
  return {
    place: name,
    key: null,
    needsSuccess: true,
    send: async (_, body, signal) => {
      const why = await send(body, signal);
      return why === null ? { kind: 'taken' } : { kind: 'failed', why };
    },
  };
}

interface Sent {
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'after'>;
}

/** Why it failed, as a clause; null where it ended with 0. Nothing of its group is left then. */
async function endOf(child: ChildProcess, { body, signal, clock }: Sent): Promise<string | null> {
  const { pid, stdin } = child;
  const kill = (): void => {
    if (pid !== undefined) signalGroup(pid, 'SIGKILL');
  };
  let forget = (): void => {};
  try {
    return await new Promise<string | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, how) => resolve(code === 0 ? null : `it ended with ${code ?? how}`));
      const cancelTimer = clock.after(withinMs, () => resolve(`it ran for ${withinMs / 1000} s`));
      const abort = (): void => resolve('the session ended');
      signal.addEventListener('abort', abort);
      process.once('exit', kill);
      forget = () => {
        cancelTimer();
        signal.removeEventListener('abort', abort);
        process.off('exit', kill);
      };
      // It need not read.
      stdin?.on('error', () => {});
      stdin?.end(body);
    });
  } finally {
    forget();
    kill();
    stdin?.destroy();
  }
}
