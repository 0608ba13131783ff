import { describe, expect, it } from 'vitest';

import { noFlags } from '@svc/artifacts/grants/flag-grants.ts';
import { composePlan, type PlanRequest } from './compose-plan.ts';
import type { Enforcement } from './enforcement.ts';
import { encodeLaunchPlan } from './launch-plan.ts';
import type { ProcessGrants, ProjectFolder } from './process-grants.ts';

const grants: ProcessGrants = {
  commands: ['sh'],
  scope: '.',
  writable: true,
  ...noFlags,
  stores: [],
  networkAllow: [],
  limits: {
    processes: 128,
    open_files: 1024,
    file_size: 4096,
    cpu: 3600,
    memory: 8192,
  },
};
const stores = [
  { name: 'notes', path: '/home/user/.svc/state/notes' },
  { name: 'tasks', path: '/home/user/.svc/state/tasks' },
];
const files = {
  read: ['/etc/passwd', '/usr/lib/libc.so.6', '/usr/bin/dash'],
  execute: ['/usr/bin/dash', '/usr/lib/ld.so'],
  links: [{ path: '/bin', target: 'usr/bin' }],
  problems: [],
};
const sealed: Enforcement = { class: 'sealed', landlockAbi: 7, root: { userNamespace: true, proc: true } };
const scoped: Enforcement = { class: 'scoped', landlockAbi: 6 };

function words(over: Partial<Omit<PlanRequest, 'grants'>> & { grants?: Partial<ProcessGrants> }): string {
  const plan = composePlan({
    enforcement: scoped,
    files,
    workdir: '/tmp/work',
    processesRunning: 40,
    cgroups: { joins: [], room: null },
    users: null,
    ...over,
    grants: { ...grants, ...over.grants },
  });
  const operations = new Set([
    'cgroup',
    'room',
    'users',
    'mounts',
    'processes',
    'around',
    'unshare',
    'hostname',
    'loopback',
    'listen',
    'bind',
    'tmpfs',
    'tmp',
    'proc',
    'directory',
    'symlink',
    'cwd',
    'limit',
    'landlock',
    'allow',
    'port',
    'end',
  ]);
  const text = encodeLaunchPlan(plan).toString().split('\0').slice(0, -1);
  return text
    .map((word) => (operations.has(word) ? `\n${word}` : ` ${word}`))
    .join('')
    .trim();
}

describe('the plan of a sealed launch', () => {
  it('composes a root of what was granted, and nothing else', () => {
    expect(words({ enforcement: sealed })).toBe(
      `svc-launch-plan 1
unshare user,mount,pid,ipc,net,uts,cgroup
hostname capsule
loopback
tmp 14 268435456 /tmp
symlink usr/bin /bin
bind 7 /etc/passwd /etc/passwd
bind 7 /usr/bin/dash /usr/bin/dash
bind 7 /usr/lib/ld.so /usr/lib/ld.so
bind 7 /usr/lib/libc.so.6 /usr/lib/libc.so.6
tmpfs 10 1048576 /dev
bind 11 /dev/null /dev/null
bind 11 /dev/zero /dev/zero
bind 11 /dev/full /dev/full
bind 11 /dev/random /dev/random
bind 11 /dev/urandom /dev/urandom
symlink /proc/self/fd /dev/fd
symlink /proc/self/fd/0 /dev/stdin
symlink /proc/self/fd/1 /dev/stdout
symlink /proc/self/fd/2 /dev/stderr
tmp 14 268435456 /dev/shm
proc 15 /proc
bind 14 /tmp/work /tmp/work
cwd /tmp/work
limit 0 3600 3600
limit 1 4096 4096
limit 2 8192 8192
limit 4 1 1
limit 6 130 130
limit 7 1024 1024
landlock 65535 3 3
allow 13 /usr/bin/dash
allow 13 /usr/lib/ld.so
allow 12 /
allow 30142 /tmp/work
allow 30142 /tmp/work/.svc/home
allow 30142 /tmp
allow 30142 /dev/shm
allow 49158 /dev/null
allow 49158 /dev/zero
allow 49158 /dev/full
allow 49158 /dev/random
allow 49158 /dev/urandom
end`,
    );
  });

  it('listens for the proxy when a destination is allowed, and may connect to nothing else', () => {
    const networkAllow = [{ scheme: null, host: 'example.com', port: 443 }] as const;
    const plan = words({ enforcement: sealed, grants: { networkAllow } });
    expect(plan).toContain('\nhostname capsule\nlisten 3128\ntmp ');
    expect(plan).toMatch(/\nport 2 3128\nend$/);
  });

  it('shows a scope that may only be read, and the home beside it', () => {
    const plan = words({ enforcement: sealed, grants: { scope: 'src', writable: false } });
    expect(plan).toContain('\nbind 15 /tmp/work/src /tmp/work/src\nbind 14 /tmp/work/.svc/home /tmp/work/.svc/home\n');
    expect(plan).toContain('\ncwd /tmp/work/src\n');
    expect(plan).toContain('\nallow 12 /tmp/work/src\nallow 30142 /tmp/work/.svc/home\n');
    expect(plan).not.toMatch(/^(bind|allow) .*\/tmp\/work$/m);
  });

  it('runs programs of the workdir where that is granted', () => {
    const plan = words({ enforcement: sealed, grants: { workdirExec: true } });
    expect(plan).toContain('\nbind 6 /tmp/work /tmp/work\n');
    expect(plan).toContain('\nallow 30143 /tmp/work\n');
  });

  it('has the stores of its artifact at /state, to write and not to run programs of', () => {
    const plan = words({ enforcement: sealed, grants: { stores, workdirExec: true, unixSockets: true } });
    expect(plan).toContain(
      `
proc 15 /proc
bind 14 /home/user/.svc/state/notes /state/notes
bind 14 /home/user/.svc/state/tasks /state/tasks
bind 6 /tmp/work /tmp/work
`,
    );
    expect(plan).toContain('\nallow 30142 /state/notes\nallow 30142 /state/tasks\nallow 30142 /tmp\n');
  });

  it('has the stores where the host has them when the workdir lies in /state, so that neither hides the other', () => {
    const plan = words({ enforcement: sealed, grants: { stores }, workdir: '/state/notes' });
    expect(plan).toContain(
      `
bind 14 /home/user/.svc/state/notes /home/user/.svc/state/notes
bind 14 /home/user/.svc/state/tasks /home/user/.svc/state/tasks
bind 14 /state/notes /state/notes
`,
    );
    expect(plan).toContain('\nallow 30142 /home/user/.svc/state/notes\n');
    expect(words({ enforcement: sealed, grants: { stores }, workdir: '/states/a' })).toContain(' /state/tasks\n');
  });

  it('has its other writable places where the host has them, the kept files over them, and its own start directory', () => {
    const writes = ['/home/user/a', '/home/user/a/out'];
    const granted = { writes, kept: ['/home/user/a/.git'], cwd: '/home/user/a' };
    const plan = words({ enforcement: sealed, grants: granted });
    expect(plan).toContain(`
bind 14 /home/user/a /home/user/a
bind 15 /home/user/a/.git /home/user/a/.git
bind 14 /tmp/work /tmp/work
`);
    expect(plan).toContain('\ncwd /home/user/a\n');
    expect(plan).toContain('\nallow 30142 /home/user/a\nallow 30142 /home/user/a/out\nallow 30142 /tmp/work\n');
    expect(words({ enforcement: scoped, grants: { writes, workdirExec: true } })).toContain(
      '\nallow 30143 /home/user/a\n',
    );
  });

  it('mounts nothing inside what is mounted whole', () => {
    const within = {
      read: ['/usr/lib/git/a', '/usr/lib/git', '/usr/lib/git-b'],
      execute: [],
      links: [{ path: '/usr/lib/git/l', target: 'a' }],
      problems: [],
    };
    const plan = words({ enforcement: sealed, files: within });
    expect(plan.match(/^bind 7 .*$/gm)).toEqual([
      'bind 7 /usr/lib/git /usr/lib/git',
      'bind 7 /usr/lib/git-b /usr/lib/git-b',
    ]);
    expect(plan).not.toContain('/usr/lib/git/l');
  });

  it('goes without a user namespace or a /proc where the host has none, and then counts what runs already', () => {
    const plan = words({ enforcement: { ...sealed, root: { userNamespace: false, proc: false } } });
    expect(plan).toContain('\nunshare mount,pid,ipc,net,uts,cgroup\n');
    expect(plan).not.toContain('\nproc ');
    expect(plan).toContain('\nlimit 6 168 168\n');
  });
});

describe('the plan of a scoped launch', () => {
  it('leaves the host where it is and takes rights away', () => {
    expect(words({ grants: { unixSockets: true } })).toBe(
      `svc-launch-plan 1
cwd /tmp/work
limit 0 3600 3600
limit 1 4096 4096
limit 2 8192 8192
limit 4 1 1
limit 6 168 168
limit 7 1024 1024
landlock 65535 3 3
allow 13 /usr/bin/dash
allow 13 /usr/lib/ld.so
allow 12 /etc/passwd
allow 12 /usr/lib/libc.so.6
allow 30654 /tmp/work
allow 30654 /tmp/work/.svc/home
allow 49158 /dev/null
allow 49158 /dev/zero
allow 49158 /dev/full
allow 49158 /dev/random
allow 49158 /dev/urandom
end`,
    );
  });

  it('gives the stores of its artifact where they are', () => {
    const plan = words({ grants: { stores, workdirExec: true, writable: false } });
    expect(plan).toContain(
      `
allow 30143 /tmp/work/.svc/home
allow 30142 /home/user/.svc/state/notes
allow 30142 /home/user/.svc/state/tasks
allow 49158 /dev/null
`,
    );
  });

  it('narrows the ports to those of the allow-list and of name servers', () => {
    const networkAllow = [
      { scheme: 'https', host: 'a.example', port: 443 },
      { scheme: null, host: 'b.example', port: 8080 },
    ] as const;
    expect(words({ grants: { networkAllow } })).toMatch(/\nport 2 53\nport 2 443\nport 2 8080\nend$/);
  });

  it('leaves every port open for a host without one, and still lets nothing listen', () => {
    const networkAllow = [{ scheme: null, host: 'a.example', port: null }] as const;
    const plan = words({ grants: { networkAllow } });
    expect(plan).toContain('\nlandlock 65535 1 3\n');
    expect(plan).not.toContain('\nport ');
  });
});

describe('the plan of a launch behind a filter alone', () => {
  it('sets limits and the directory', () => {
    expect(
      words({ enforcement: { class: 'advisory' } })
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['svc-launch-plan', 'cwd', 'limit', 'limit', 'limit', 'limit', 'limit', 'limit', 'end']);
  });
});

describe('a control group', () => {
  it('takes the process in every class, before it gives up anything', () => {
    const cgroups = {
      joins: ['/sys/fs/cgroup/one/tasks', '/sys/fs/cgroup/two/tasks'],
      room: { count: '/sys/fs/cgroup/one/pids.current', most: 128 },
    };
    for (const enforcement of [sealed, scoped, { class: 'advisory' }] as const) {
      const plan = words({ enforcement, cgroups });
      expect(plan).toMatch(
        /^svc-launch-plan 1\ncgroup \/sys\/fs\/cgroup\/one\/tasks\ncgroup \/sys\/fs\/cgroup\/two\/tasks\nroom \/sys\/fs\/cgroup\/one\/pids.current 128\n/,
      );
      expect(plan).toMatch(/\nlimit 6 1(30|68) 1(30|68)\n/);
    }
  });
});

describe('an older kernel', () => {
  it('gets only what it knows', () => {
    expect(words({ enforcement: { ...sealed, landlockAbi: 3 } })).toContain('\nlandlock 32767 0 0\n');
    expect(words({ enforcement: { ...sealed, landlockAbi: 4 } })).toContain('\nlandlock 32767 3 0\n');
    expect(words({ enforcement: { ...sealed, landlockAbi: 5 } })).toContain('\nlandlock 65535 3 0\n');
  });
});

describe('a project folder', () => {
  const project: ProjectFolder = {
    path: '/home/user/shop',
    isWorkdir: false,
    writable: false,
    masked: [
      { path: '.env', isDirectory: false },
      { path: 'api/.env.d', isDirectory: true },
    ],
    keepsGit: false,
    own: [],
    kept: [],
    git: null,
    parts: null,
    look: () => {},
  };
  const about = (text: string): readonly string[] =>
    text.split('\n').filter((line) => /project|shop|dev\/null|^cwd/.test(line));

  it('has a read-only mount in the workdir of a composed root, its masked places covered', () => {
    expect(about(words({ enforcement: sealed, grants: { project } }))).toEqual([
      'bind 11 /dev/null /dev/null',
      'bind 15 /home/user/shop /tmp/work/project',
      'bind 15 /dev/null /tmp/work/project/.env',
      'tmpfs 15 4096 /tmp/work/project/api/.env.d',
      'cwd /tmp/work/project',
      'allow 12 /tmp/work/project',
      'allow 49158 /dev/null',
    ]);
  });

  it('has a writable mount where that is granted, and still its masks', () => {
    expect(about(words({ enforcement: sealed, grants: { project: { ...project, writable: true } } }))).toEqual([
      'bind 11 /dev/null /dev/null',
      'bind 14 /home/user/shop /tmp/work/project',
      'bind 15 /dev/null /tmp/work/project/.env',
      'tmpfs 15 4096 /tmp/work/project/api/.env.d',
      'cwd /tmp/work/project',
      'allow 30142 /tmp/work/project',
      'allow 49158 /dev/null',
    ]);
  });

  it('has what is kept of it mounted once more, so that it cannot be renamed, and read-only where it is not to change', () => {
    const kept = [
      { path: '.git', writable: true },
      { path: '.git/hooks', writable: false },
    ];
    const grants = { project: { ...project, writable: true, masked: [], keepsGit: true, kept } };
    expect(about(words({ enforcement: sealed, grants })).slice(1, 4)).toEqual([
      'bind 14 /home/user/shop /tmp/work/project',
      'bind 14 /home/user/shop/.git /tmp/work/project/.git',
      'bind 15 /home/user/shop/.git/hooks /tmp/work/project/.git/hooks',
    ]);
  });

  it('lies where the host has it beside a repository elsewhere, and what is around it is listed and not opened', () => {
    const [kept, reads] = [[{ path: 'hooks', writable: false }], ['/home/user/.gitignore']];
    const git = { path: '/home/user/.git', writable: true, kept, around: '/home/user', reads };
    const grants = { project: { ...project, masked: [], writable: true, git } };
    const lines = words({ enforcement: sealed, grants }).split('\n');
    expect(lines.filter((line) => /home\/user|^cwd/.test(line))).toEqual([
      'bind 7 /home/user /home/user',
      'bind 14 /home/user/.git /home/user/.git',
      'bind 15 /home/user/.git/hooks /home/user/.git/hooks',
      'bind 14 /home/user/shop /home/user/shop',
      'cwd /home/user/shop',
      'allow 12 /home/user/.gitignore',
      'allow 30142 /home/user/shop',
      'allow 30142 /home/user/.git',
      'allow 8 /home/user',
    ]);
    expect(lines.filter((line) => /^allow \d+ \/(?:tmp)?$/.test(line))).toEqual(['allow 30142 /tmp']);
    const below = words({
      enforcement: sealed,
      grants: { project: { ...project, git: { ...git, around: '/tmp/x' } } },
    });
    expect(below).not.toContain('\nallow 30142 /tmp\n');
  });

  it('opens where the host has it without a root of its own: as a whole, or listed and opened by its parts', () => {
    const whole = { ...project, masked: [] };
    expect(about(words({ grants: { project: whole } }))).toEqual([
      'cwd /home/user/shop',
      'allow 12 /home/user/shop',
      'allow 49158 /dev/null',
    ]);
    const parts = ['/home/user/shop/api/x', '/home/user/shop/src'];
    expect(about(words({ grants: { project: { ...project, parts } } }))).toEqual([
      'cwd /home/user/shop',
      'allow 8 /home/user/shop',
      'allow 12 /home/user/shop/api/x',
      'allow 12 /home/user/shop/src',
      'allow 49158 /dev/null',
    ]);
  });
});
