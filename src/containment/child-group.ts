import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';

import { keptOutput } from './kept-output.ts';
import type { LaunchEnd, LaunchedProcess } from './launcher.ts';

/** A child started as leader of its own group, with both outputs piped. */
interface GroupLeader {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** `superviseGroup` over a child that was started so. */
export function superviseChild(child: ChildProcess, drainMs: number): LaunchedProcess {
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) throw new Error('a started child lacks its pipes');
  return superviseGroup({ child, pid, stdout, stderr }, drainMs);
}

/** Leaders of groups that run, by pid. */
const live = new Set<number>();

/** For the end of the process itself: no group that was started outlives it. Synchronous, so that an exit hook may call it. */
export function killLiveGroups(): void {
  for (const pid of live) signalGroup(pid, 'SIGKILL');
  live.clear();
}

/**
 * The launched process over a group leader. What the leader leaves running in its group gets `drainMs` after the leader's
 * exit to finish writing and is then killed; outputs that a process outside the group still holds are closed after
 * `drainMs` more. So `ended` settles within twice `drainMs` of the exit, whatever was left behind.
 */
function superviseGroup(leader: GroupLeader, drainMs: number): LaunchedProcess {
  const { child, pid, stdout, stderr } = leader;
  let over = false;
  live.add(pid);
  // A reader that closes its stdin early is not a failure of the writer: how the process ended is told by `ended`.
  child.stdin?.on('error', () => {});
  const kill = (signal: NodeJS.Signals): void => {
    if (!over) signalGroup(pid, signal);
  };
  const ended = new Promise<LaunchEnd>((resolve) => {
    let drain: NodeJS.Timeout | undefined;
    child.once('exit', () => {
      drain = setTimeout(() => {
        kill('SIGKILL');
        drain = setTimeout(() => {
          stdout.destroy();
          stderr.destroy();
        }, drainMs);
      }, drainMs);
    });
    child.once('close', (code, signal) => {
      clearTimeout(drain);
      kill('SIGKILL');
      over = true;
      live.delete(pid);
      resolve(signal === null ? { kind: 'exited', exitCode: code ?? 0 } : { kind: 'signaled', signal });
    });
  });
  return { pid, stdin: child.stdin, stdout: keptOutput(stdout), stderr: keptOutput(stderr), ended, kill };
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // Nobody of the group is left, or those left run as someone else.
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
