/** Numbers the system calls, by architecture, and lists those that contained processes may make. */

import aarch64 from './syscalls-aarch64.json' with { type: 'json' };
import x8664 from './syscalls-x86_64.json' with { type: 'json' };

export type Architecture = 'x86_64' | 'aarch64';

/** A system call of either architecture; aarch64 has none that x86_64 lacks. */
export type SyscallName = keyof typeof x8664;

interface ArchitectureFacts {
  /** `AUDIT_ARCH_*`, by which the kernel shows a filter whose numbers a call uses. */
  readonly audit: number;
  /** Numbers from here on belong to another set of numbers under the same `audit`; null without one. */
  readonly foreignFrom: number | null;
  /** Name and number of every call known when the table was generated (`scripts/generate-syscalls.mjs`). */
  readonly syscalls: Iterable<readonly [name: string, number: number]>;
}

export const architectures: Readonly<Record<Architecture, ArchitectureFacts>> = {
  // The set of numbers behind bit 30 is x32's.
  x86_64: {
    audit: 0xc000_003e,
    foreignFrom: 0x4000_0000,
    get syscalls() {
      return Object.entries(x8664);
    },
  },
  aarch64: {
    audit: 0xc000_00b7,
    foreignFrom: null,
    get syscalls() {
      return Object.entries(aarch64);
    },
  },
};

const list = (...lines: readonly SyscallName[][]): readonly SyscallName[] => lines.flat();

/** Calls that every contained process may make, whatever the arguments. What each may reach, other mechanisms decide. */
export const alwaysAllowed = list(
  // Processes, threads and their identity.
  ['fork', 'vfork', 'execve', 'execveat', 'exit', 'exit_group', 'wait4', 'waitid', 'getpid', 'getppid', 'gettid'],
  ['set_tid_address', 'set_robust_list', 'rseq', 'arch_prctl', 'restart_syscall', 'membarrier', 'getcpu'],
  ['getuid', 'geteuid', 'getgid', 'getegid', 'getresuid', 'getresgid', 'getgroups', 'capget'],
  // These only give up rights: nobody gains any without capabilities.
  ['setuid', 'setgid', 'setreuid', 'setregid', 'setresuid', 'setresgid', 'setfsuid', 'setfsgid', 'setgroups', 'capset'],
  [
    'getpgid',
    'getpgrp',
    'getsid',
    'setpgid',
    'setsid',
    'getrlimit',
    'setrlimit',
    'getrusage',
    'times',
    'uname',
    'sysinfo',
  ],
  ['getpriority', 'setpriority', 'ioprio_get', 'ioprio_set', 'sched_yield', 'sched_getaffinity', 'sched_setaffinity'],
  ['sched_getattr', 'sched_setattr', 'sched_getparam', 'sched_setparam', 'sched_getscheduler', 'sched_setscheduler'],
  ['sched_get_priority_max', 'sched_get_priority_min', 'sched_rr_get_interval', 'pidfd_open', 'pidfd_send_signal'],
  ['landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self'],
  // Where the host's tracers have put a breakpoint, the kernel makes these for the program; it ends one that calls them itself.
  ['uretprobe', 'uprobe'],
  // Memory.
  [
    'brk',
    'mmap',
    'munmap',
    'mremap',
    'mprotect',
    'madvise',
    'mincore',
    'msync',
    'mlock',
    'mlock2',
    'mlockall',
    'munlock',
  ],
  ['munlockall', 'mseal', 'map_shadow_stack', 'pkey_alloc', 'pkey_free', 'pkey_mprotect'],
  // Signals, timers, waiting.
  [
    'rt_sigaction',
    'rt_sigprocmask',
    'rt_sigreturn',
    'rt_sigpending',
    'rt_sigsuspend',
    'rt_sigtimedwait',
    'sigaltstack',
  ],
  ['rt_sigqueueinfo', 'rt_tgsigqueueinfo', 'kill', 'tkill', 'tgkill', 'pause', 'alarm', 'getitimer', 'setitimer'],
  ['signalfd', 'signalfd4', 'timerfd_create', 'timerfd_gettime', 'timerfd_settime', 'eventfd', 'eventfd2'],
  [
    'timer_create',
    'timer_settime',
    'timer_gettime',
    'timer_getoverrun',
    'timer_delete',
    'nanosleep',
    'clock_nanosleep',
  ],
  ['clock_gettime', 'clock_getres', 'gettimeofday', 'time', 'getrandom'],
  ['futex', 'futex_wait', 'futex_waitv', 'futex_wake', 'futex_requeue'],
  ['poll', 'ppoll', 'select', 'pselect6', 'epoll_create', 'epoll_create1', 'epoll_ctl', 'epoll_wait', 'epoll_pwait'],
  ['epoll_pwait2', 'inotify_init', 'inotify_init1', 'inotify_add_watch', 'inotify_rm_watch'],
  // Descriptors.
  ['read', 'readv', 'pread64', 'preadv', 'preadv2', 'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'lseek'],
  ['close', 'close_range', 'dup', 'dup2', 'dup3', 'fcntl', 'flock', 'pipe', 'pipe2', 'splice', 'tee', 'sendfile'],
  ['copy_file_range', 'fsync', 'fdatasync', 'sync', 'syncfs', 'sync_file_range', 'ftruncate', 'fallocate', 'fadvise64'],
  ['readahead', 'cachestat'],
  // Files by path.
  [
    'stat',
    'lstat',
    'fstat',
    'newfstatat',
    'statx',
    'statfs',
    'fstatfs',
    'access',
    'faccessat',
    'faccessat2',
    'truncate',
  ],
  ['getcwd', 'chdir', 'fchdir', 'getdents', 'getdents64', 'mkdir', 'mkdirat', 'rmdir', 'unlink', 'unlinkat', 'umask'],
  ['link', 'linkat', 'symlink', 'symlinkat', 'readlink', 'readlinkat', 'rename', 'renameat'],
  ['getxattr', 'lgetxattr', 'fgetxattr', 'getxattrat', 'listxattr', 'llistxattr', 'flistxattr', 'listxattrat'],
  ['file_getattr'],
  // Sockets that exist already: what kinds can be made is decided where they are made.
  ['recvfrom', 'recvmsg', 'recvmmsg', 'shutdown', 'getsockname', 'getpeername', 'getsockopt'],
);

/** Changing what is known of a file, the permission bits apart. */
export const metadataCalls = list(
  ['chown', 'fchown', 'lchown', 'fchownat', 'utime', 'utimes', 'futimesat', 'utimensat', 'file_setattr'],
  ['setxattr', 'lsetxattr', 'fsetxattr', 'setxattrat', 'removexattr', 'lremovexattr', 'fremovexattr', 'removexattrat'],
);

/** Shared memory, semaphores and queues that belong to no file: they reach across everything but an IPC namespace. */
export const ipcCalls = list(
  [
    'shmget',
    'shmat',
    'shmctl',
    'shmdt',
    'semget',
    'semop',
    'semtimedop',
    'semctl',
    'msgget',
    'msgsnd',
    'msgrcv',
    'msgctl',
  ],
  ['mq_open', 'mq_unlink', 'mq_timedsend', 'mq_timedreceive', 'mq_notify', 'mq_getsetattr'],
);

/** Waiting for others to connect. */
export const listenCalls = list(['bind', 'listen', 'accept', 'accept4']);

/**
 * Calls that are answered as an older kernel would: their arguments are behind a pointer, where a filter cannot look, and every
 * libc has an older call to fall back to.
 */
export const olderKernelCalls = list(['clone3', 'openat2']);
