import { alwaysAllowed, ipcCalls, listenCalls, metadataCalls, olderKernelCalls } from './allowed-calls.ts';
import { type Architecture, architectures, type SyscallName } from './architecture.ts';
import {
  cloneRule,
  controlRule,
  makeNodeRule,
  memoryFileRule,
  modeRule,
  openRule,
  personalityRule,
  renameRule,
  resourceLimitRule,
  seccompRule,
  sendRule,
  setSocketOptionRule,
} from './argument-rules.ts';
import { processControlRule } from './prctl-rule.ts';
import type { Rule } from './rule.ts';
import { socketPairRule, socketRule } from './socket-rules.ts';

/** What the filter of a contained process depends on. */
export interface FilterGrants {
  readonly architecture: Architecture;
  /** TCP sockets, IPv4 and IPv6. Where they may connect to is for others to say: a filter sees no address. */
  readonly tcp: boolean;
  /** No class grants it: neither name look-ups nor QUIC could be held to a list of hosts. */
  readonly udp: false;
  /** Sockets of this machine that can be connected to by name. Pairs of connected ones need no grant. */
  readonly unixSockets: boolean;
  /** Binding and listening, for every family whose sockets may be made: a filter cannot tell them apart there. */
  readonly listen: boolean;
  /** System V and POSIX queues, semaphores and shared memory. Only for processes in an IPC namespace of their own. */
  readonly ipc: boolean;
  /** No change of owner, mode, times or attributes of any file. */
  readonly restrictMetadata: boolean;
}

/** What becomes of every call. */
export interface SyscallPolicy {
  readonly architecture: Architecture;
  /** By number, all that are known: what a later kernel adds is in no policy, and answers ENOSYS. */
  readonly rules: ReadonlyMap<number, Rule>;
}

/**
 * An allow-list: what is known and not listed answers EPERM (D1 "Mechanism values", the syscall allowlist). The same grants give
 * the same policy.
 */
export function syscallPolicy(grants: FilterGrants): SyscallPolicy {
  const listed = listedRules(grants);
  const { syscalls } = architectures[grants.architecture];
  const rules = new Map([...syscalls].map(([name, number]): [number, Rule] => [number, listed.get(name) ?? 'EPERM']));
  return { architecture: grants.architecture, rules };
}

function listedRules(grants: FilterGrants): ReadonlyMap<string, Rule> {
  const rules = new Map<string, Rule>();
  const give = (names: readonly SyscallName[], rule: Rule): void => names.forEach((name) => rules.set(name, rule));
  give(alwaysAllowed, 'allow');
  give(olderKernelCalls, 'ENOSYS');
  if (grants.ipc) give(ipcCalls, 'allow');
  if (grants.listen) give(listenCalls, 'allow');
  if (grants.tcp || grants.unixSockets) give(['connect'], 'allow');
  for (const [name, rule] of Object.entries(argumentRules(grants))) rules.set(name, rule);
  if (grants.restrictMetadata) return rules;
  give(metadataCalls, 'allow');
  give(['chmod', 'fchmod'], modeRule(1));
  give(['fchmodat', 'fchmodat2'], modeRule(2));
  return rules;
}

function argumentRules(grants: FilterGrants): Partial<Record<SyscallName, Rule>> {
  return {
    clone: cloneRule,
    creat: modeRule(1),
    open: openRule({ flags: 1, mode: 2 }),
    openat: openRule({ flags: 2, mode: 3 }),
    mknod: makeNodeRule(1),
    mknodat: makeNodeRule(2),
    renameat2: renameRule,
    memfd_create: memoryFileRule,
    ioctl: controlRule(grants),
    prctl: processControlRule,
    personality: personalityRule,
    prlimit64: resourceLimitRule,
    seccomp: seccompRule,
    socket: socketRule(grants),
    socketpair: socketPairRule(grants),
    sendto: sendRule(3),
    sendmsg: sendRule(2),
    sendmmsg: sendRule(3),
    setsockopt: setSocketOptionRule,
  };
}
