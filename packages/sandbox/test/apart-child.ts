import { mkdirSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { containedEnvironment, containedTemporary } from '../src/contained-environment.ts';
import { openPlace } from '../src/containment.ts';
import { hostContainment } from '../src/host-containment.ts';
import { minimalGrants } from '../src/launch/process-grants.ts';
import type { LaunchedProcess } from '../src/launcher.ts';

/**
 * Runs a program three times in one session, the second time while the first still lives, the third time while the second does, and prints what each
 * found. In class sealed all but the
 * second may reach a host. With a line for the shell
 * it starts that instead, says so, and waits to be killed. A program of its own, started by the tests.
 */
const [, , packageRoot = '', directory = '', ceiling = '', line = ''] = process.argv;
if (ceiling !== 'sealed' && ceiling !== 'scoped') throw new Error('neither sealed nor scoped');

const containment = await hostContainment({
  packageRoot,
  platform: process.platform,
  architecture: process.arch,
  uid: process.getuid?.() ?? 0,
  kernel: release(),
  cacheDirectory: join(directory, 'cache'),
  temporaryDirectory: directory,
  ceiling,
});
if (containment.achieved !== ceiling) throw new Error(containment.reason ?? '');

const place = { workdir: join(directory, 'work'), privateDirectory: join(directory, 'private') };
mkdirSync(containedTemporary(place.workdir), { recursive: true });
mkdirSync(place.privateDirectory, { mode: 0o700 });
const session = await openPlace(containment, place, minimalGrants.limits);
const grants = { ...minimalGrants, commands: ['python3', 'setsid', 'sh', 'sleep'], unixSockets: true };
const alone = session.launcher(grants);
const host = { scheme: 'https', host: 'granted.example', port: 443 } as const;
const reaching = ceiling === 'sealed' ? session.launcher({ ...grants, networkAllow: [host] }) : alone;
const env = containedEnvironment({ accessibleWorkdir: place.workdir, held: process.env, allow: [], achieved: ceiling });

async function start(name: string, command: string, script: string, launcher = reaching): Promise<LaunchedProcess> {
  const outcome = await launcher.launch({
    command,
    args: ['-c', script],
    env: { ...env, [`ONLY_${name}`]: `secret of ${name}` },
    stdin: 'pipe',
  });
  if (outcome.kind === 'refused') throw new Error(outcome.reason);
  return outcome.process;
}

/** The first line, without waiting for the end. */
async function firstLine({ stdout }: LaunchedProcess): Promise<string> {
  let said = '';
  for await (const chunk of stdout) {
    said += String(chunk);
    if (said.includes('\n')) break;
  }
  return said;
}

/** Says what there is of another one, then leaves what it can, and lives until its input ends. */
const lookAndLeave = `
import ctypes, errno, fcntl, json, os, resource, signal, socket, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
held = []
def tried(act):
    try:
        return act()
    except OSError as error:
        return errno.errorcode[error.errno]
def called(number, *operands):
    result = libc.syscall(number, *operands)
    return 'done' if result >= 0 else errno.errorcode[ctypes.get_errno()]
def connects(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as each:
        each.connect(address)
        return 'done'
def listens(family, address):
    each = socket.socket(family, socket.SOCK_STREAM)
    held.append(each)
    each.bind(address)
    each.listen(1)
    return 'done'
def makes(path):
    with open(path, 'x') as made:
        made.write('left')
    return 'done'
def hides(path):
    os.chmod(path, 0o700)
    return 'done'
def is_open(descriptor):
    return tried(lambda: fcntl.fcntl(descriptor, fcntl.F_GETFD)) != 'EBADF'
x86 = os.uname().machine == 'x86_64'
shmget, semget, msgget, mq_open, keyctl = (29, 64, 68, 240, 250) if x86 else (194, 190, 186, 180, 219)
sealed = os.uname().nodename == 'capsule'
key, new, abstract, loopback = 0x51c, 0o1600, chr(0) + 'left', ('127.0.0.1', 45871)
places = ['/tmp/left', '/dev/shm/left', '/dev/left', '/left', '/proc/left']
seen = {
    'files': [path for path in places if os.path.exists(path)],
    'modes': [oct(stat.S_IMODE(os.stat(path).st_mode)) for path in ['/dev', '/dev/shm', '/tmp']],
    'processes': tried(lambda: sorted(int(each) for each in os.listdir('/proc') if each.isdigit())),
    'parent': tried(lambda: len(open(f'/proc/{os.getppid()}/environ').read())),
    'abstract': tried(lambda: connects(socket.AF_UNIX, abstract)),
    'loopback': tried(lambda: connects(socket.AF_INET, loopback)),
    'shm': called(shmget, key, 4096, 0),
    'sem': called(semget, key, 1, 0),
    'msg': called(msgget, key, 0),
    'mq': called(mq_open, b'left', 0, 0, None),
    'keyring': called(keyctl, 0, -3, 0),
    'variables': sorted(name for name in os.environ if name.startswith('ONLY_')),
    'descriptors': [each for each in range(1024) if is_open(each)],
    'limit': resource.getrlimit(resource.RLIMIT_NOFILE),
    'blocked': len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    'ignored': [each for each in range(1, 32) if each not in (2, 13, 25) and signal.getsignal(each) == signal.SIG_IGN],
    'leads': os.getpid() == os.getpgrp(),
    'cwd': os.path.basename(os.getcwd()),
}
own = {
    'namespaces': tried(lambda: [os.readlink(f'/proc/self/ns/{each}') for each in ['mnt', 'pid', 'ipc', 'net', 'uts', 'cgroup']]),
    'mounts': tried(lambda: sorted(' '.join(line.split()[3:6]) for line in open('/proc/self/mountinfo'))),
}
# What a class leaves to the host is not touched.
left = {
    'files': [tried(lambda: makes(path)) for path in places],
    'modes': [tried(lambda: hides(path)) for path in ['/dev', '/dev/shm', '/tmp']],
    'shm': called(shmget, key, 4096, new),
    'sem': called(semget, key, 1, new),
    'msg': called(msgget, key, new),
    'abstract': tried(lambda: listens(socket.AF_UNIX, abstract)),
} if sealed else {}
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.umask(0o777)
print(json.dumps({'seen': seen, 'own': own, 'left': left}), flush=True)
sys.stdin.read()
`;

async function foundByEach(): Promise<string> {
  const first = await start('FIRST', 'python3', lookAndLeave);
  const before = await firstLine(first);
  const second = await start('SECOND', 'python3', lookAndLeave, alone);
  const beside = await firstLine(second);
  first.stdin?.end();
  await first.ended;
  const third = await start('THIRD', 'python3', lookAndLeave);
  third.stdin?.end();
  const [after, complaint] = await Promise.all([text(third.stdout), text(third.stderr), third.ended]);
  second.stdin?.end();
  await second.ended;
  return complaint === '' ? `[${[before, beside, after].join()}]` : complaint;
}

if (line === '') {
  process.stdout.write(await foundByEach());
  await session.close();
} else {
  const { stdout } = await start('FIRST', 'sh', line);
  stdout.pipe(process.stdout);
}
