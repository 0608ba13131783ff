import type { FilterGrants } from '../src/seccomp/policy.ts';

/** What is expected of the filter, said a second time and the other way round: here by what is refused. */
export type Expected = 'allow' | 'kill' | number;

const [EPERM, EINVAL, ENOSYS, EAFNOSUPPORT] = [1, 22, 38, 97];

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const refusedAlways = new Set(
  words(`
  unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
  open_tree_attr statmount listmount listns open_by_handle_at name_to_handle_at fanotify_init fanotify_mark
  ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise process_mrelease get_robust_list
  move_pages migrate_pages mbind set_mempolicy get_mempolicy set_mempolicy_home_node
  keyctl add_key request_key bpf perf_event_open userfaultfd memfd_secret vmsplice remap_file_pages
  io_uring_setup io_uring_enter io_uring_register io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents
  init_module finit_module delete_module create_module query_module get_kernel_syms kexec_load kexec_file_load reboot
  swapon swapoff quotactl quotactl_fd acct syslog vhangup lookup_dcookie uselib ustat sysfs _sysctl nfsservctl
  settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname
  iopl ioperm modify_ldt set_thread_area get_thread_area epoll_ctl_old epoll_wait_old
  getpmsg putpmsg afs_syscall tuxcall security vserver
  lsm_get_self_attr lsm_set_self_attr lsm_list_modules rseq_slice_yield
`),
);

const metadata = new Set(
  words(`
  chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat file_setattr
  setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat
`),
);

const ipc = new Set(
  words(`
  shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
  mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
`),
);

/** An `int` argument, as the kernel reads it. */
type Ints = (index: number) => number;

const modes: Readonly<Record<string, number>> = { creat: 1, chmod: 1, fchmod: 1, fchmodat: 2, fchmodat2: 2 };
const sends: Readonly<Record<string, number>> = { sendto: 3, sendmsg: 2, sendmmsg: 3 };
const terminal = new Set([0x5412, 0x541c, 0x541d, 0x5423, 0x5437, 0xaa00]);
const chattr = new Set([0x40086602, 0x401c5820]);
const prctl = new Set(
  words(`
  1 2 3 4 7 15 16 21 22 23 24 27 29 30 36 37 38 39 41 42 47 50 51 52 54 55 56 60 61 63 64 65 66 74 75 76
  0x41555856 0x53564d41
`).map(Number),
);

export function expectedOf(name: string | undefined, grants: FilterGrants, args: readonly bigint[]): Expected {
  const int: Ints = (index) => Number(BigInt.asUintN(32, args[index] ?? 0n));
  if (name === undefined || name === 'clone3' || name === 'openat2') return ENOSYS;
  if (refusedAlways.has(name)) return EPERM;
  if (metadata.has(name) && grants.restrictMetadata) return EPERM;
  if (ipc.has(name)) return granted(grants.ipc);
  if (['bind', 'listen', 'accept', 'accept4'].includes(name)) return granted(grants.listen);
  if (name === 'connect') return granted(grants.tcp || grants.unixSockets);
  const mode = modes[name];
  if (mode !== undefined) return hasSetId(int(mode)) ? EPERM : 'allow';
  const send = sends[name];
  if (send !== undefined) return granted((int(send) & 0x20000000) === 0);
  return byArguments(name, grants, int);
}

function byArguments(name: string, grants: FilterGrants, int: Ints): Expected {
  switch (name) {
    case 'clone':
      return granted((int(0) & 0x7e828000) === 0);
    case 'open':
      return created(int(1), int(2));
    case 'openat':
      return created(int(2), int(3));
    case 'mknod':
      return granted(isPlainNode(int(1)));
    case 'mknodat':
      return granted(isPlainNode(int(2)));
    case 'renameat2':
      return granted((int(4) & 4) === 0);
    case 'memfd_create':
      return granted((int(1) & 8) === 8);
    case 'personality':
      return granted(int(0) === 0 || int(0) === 0xffffffff);
    case 'prlimit64':
      return granted(int(0) === 0);
    case 'ioctl':
      if (int(1) === 0x540e) return granted(int(2) === 0);
      return granted(!terminal.has(int(1)) && !(grants.restrictMetadata && chattr.has(int(1))));
    case 'prctl':
      return prctl.has(int(0)) ? 'allow' : EINVAL;
    case 'seccomp':
      return int(0) === 1 && (int(1) & 0xffffffe8) !== 0 ? EINVAL : 'allow';
    case 'setsockopt':
      return granted(!(int(1) === 6 && [23, 30, 31, 33, 34].includes(int(2))));
    case 'socket':
      return socket(grants, int);
    case 'socketpair':
      if (int(0) !== 1) return EAFNOSUPPORT;
      return granted((grants.unixSockets ? [1, 2, 5] : [1, 5]).includes(int(1) & 15));
    default:
      return 'allow';
  }
}

const granted = (yes: boolean): Expected => (yes ? 'allow' : EPERM);
const hasSetId = (mode: number): boolean => (mode & 0o4000) !== 0 || (mode & 0o2000) !== 0;
const created = (flags: number, mode: number): Expected =>
  ((flags & 0x40) !== 0 || (flags & 0x400000) !== 0) && hasSetId(mode) ? EPERM : 'allow';
const isPlainNode = (mode: number): boolean => !hasSetId(mode) && [0, 8, 1].includes((mode >> 12) & 15);

function socket({ tcp, unixSockets }: FilterGrants, int: Ints): Expected {
  const [family, type, protocol] = [int(0), int(1) & 15, int(2)];
  if (family === 2 || family === 10) return granted(tcp && type === 1 && (protocol === 0 || protocol === 6));
  if (family === 1 && unixSockets) return granted(type === 1 || type === 2 || type === 5);
  return EAFNOSUPPORT;
}
