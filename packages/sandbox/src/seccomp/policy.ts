/** Decides what becomes of each system call, by grants. */

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
  type Rule,
  type ArgumentTest,
  whenBits,
  whenOneOf,
  processControlRule,
} from './argument-rules.ts';

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

const family = { unix: 1, inet: 2, inet6: 10 };
const type = { stream: 1, datagram: 2, sequenced: 5 };
/** SOCK_CLOEXEC and SOCK_NONBLOCK stand above. */
const typeBits = 0xf;
/** Zero is the family's own choice. MPTCP, SCTP and SMC have others. */
const tcpProtocols = [0, 6];

const ofType = (...values: readonly number[]) => ({ mask: typeBits, values });

/**
 * Families that nobody has are unknown, not forbidden: programs are made to go on without them (libaudit, musl's user look-up).
 * An Internet socket that was not granted is forbidden, so that whoever reads the message learns what happened.
 */
function socketRule({ tcp, unixSockets }: { readonly tcp: boolean; readonly unixSockets: boolean }): ArgumentTest {
  const stream = whenBits(1, ofType(type.stream), {
    yes: whenOneOf(2, tcpProtocols, { yes: 'allow', no: 'EPERM' }),
    no: 'EPERM',
  });
  const local: Rule = unixSockets
    ? whenBits(1, ofType(type.stream, type.datagram, type.sequenced), { yes: 'allow', no: 'EPERM' })
    : 'EAFNOSUPPORT';
  return whenOneOf(0, [family.inet, family.inet6], {
    yes: tcp ? stream : 'EPERM',
    no: whenOneOf(0, [family.unix], { yes: local, no: 'EAFNOSUPPORT' }),
  });
}

/** One end of a pair of datagram sockets can send to any named socket. SOCK_RAW means datagrams here. */
function socketPairRule({ unixSockets }: { readonly unixSockets: boolean }): ArgumentTest {
  const connected = [type.stream, type.sequenced];
  const types = unixSockets ? [...connected, type.datagram] : connected;
  return whenOneOf(0, [family.unix], {
    yes: whenBits(1, ofType(...types), { yes: 'allow', no: 'EPERM' }),
    no: 'EAFNOSUPPORT',
  });
}
