import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { enterGroups } from '../src/limits/control-group.ts';

/** Makes a group below its own and reports what it sees of it: a program of its own, started by the tests in a group of theirs. */
const [, , controller = '', limit = '', value = ''] = process.argv;

function membership(pid: number | string): string {
  return /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? '';
}

const own = membership('self');
const found = enterGroups(
  'cgroup-v2',
  {
    pid: process.pid,
    membership: readFileSync('/proc/self/cgroup', 'utf8'),
    mounts: readFileSync('/proc/self/mountinfo', 'utf8'),
  },
  [controller],
);
if (found.kind === 'none') {
  process.stdout.write(JSON.stringify({ obstacle: found.obstacle, moved: membership('self') !== own }));
} else {
  const group = found.place.make({ [limit]: value });
  if (group === null) throw new Error('no group was made');
  const sleep = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const gone = once(sleep, 'exit');
  writeFileSync(group.joins[0] ?? '', `${sleep.pid}`);
  const directory = dirname(group.joins[0] ?? '');
  const during = {
    runtime: membership('self')
      .slice(own.length)
      .replace(/(-\d+){3}-\w+$/, ''),
    joined: membership(sleep.pid ?? 0)
      .slice(own.length)
      .replace(/(-\d+){3}-\w+$/, ''),
    limit: readFileSync(join(directory, limit), 'latin1').trim(),
    handedDown: readFileSync(join(dirname(directory), 'cgroup.subtree_control'), 'latin1').trim(),
    mode: (statSync(directory).mode & 0o777).toString(8),
  };
  await group.close();
  // If that did not end it, the next lines show it.
  sleep.kill('SIGTERM');
  found.place.leave();
  const after = {
    ended: (await gone)[1],
    back: membership('self') === own,
    handedDown: readFileSync(join(dirname(directory), 'cgroup.subtree_control'), 'latin1').trim(),
    left: readdirSync(dirname(directory)).filter((name) => name.startsWith('svc-')),
  };
  process.stdout.write(JSON.stringify({ during, after }));
}
