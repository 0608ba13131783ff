/** Decides what becomes of each system call, by grants, and for some of them by their arguments. */

import {
  alwaysAllowed,
  ipcCalls,
  listenCalls,
  metadataCalls,
  olderKernelCalls,
  type Architecture,
  architectures,
  type SyscallName,
} from './allowed-calls.ts';

/** An error number that a refused call answers. */
type RefusalError = 'EPERM' | 'ENOSYS' | 'EINVAL' | 'EAFNOSUPPORT';

/** What becomes of a call: `kill` ends the whole process. */
export type Verdict = 'allow' | 'kill' | RefusalError;

/**
 * Looks at one argument. Only its low 32 bits count: of every argument that is tested here the kernel itself reads no more,
 * whatever a caller puts above them.
 */
export interface ArgumentTest {
  readonly argument: number;
  /** The bits that count. */
  readonly mask: number;
  /** The test holds when the bits that count are one of these. */
  readonly values: readonly number[];
  readonly yes: Rule;
  readonly no: Rule;
}

/** What becomes of a call, at once or after a look at its arguments. */
export type Rule = Verdict | ArgumentTest;

export const allBits = 0xffff_ffff;

interface Branches {
  readonly yes: Rule;
  readonly no: Rule;
}

/** Whether the argument is one of `values`. */
function whenOneOf(argument: number, values: readonly number[], branches: Branches): ArgumentTest {
  return { argument, mask: allBits, values, ...branches };
}

/** Whether the bits of `mask` in the argument are one of `values`. */
function whenBits(
  argument: number,
  { mask, values }: Pick<ArgumentTest, 'mask' | 'values'>,
  branches: Branches,
): ArgumentTest {
  return { argument, mask, values, ...branches };
}

/** Whether any bit of `mask` is set in the argument. */
function whenAnyBit(argument: number, mask: number, { yes, no }: Branches): ArgumentTest {
  return { argument, mask, values: [0], yes: no, no: yes };
}

const onlyThese = { yes: 'allow', no: 'EPERM' } as const;
const notThese = { yes: 'EPERM', no: 'allow' } as const;

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET; `clone` knows no flag for a time namespace.
const namespaceFlags = 0x7e02_0000;
// The child would be a sibling, out of the tree that is ended as one.
const cloneParent = 0x8000;

// The child would start programs that nobody judges.
const cloneUntraced = 0x0080_0000;

const cloneRule = whenAnyBit(0, namespaceFlags | cloneParent | cloneUntraced, notThese);

const setIdBits = 0o6000;

/** For a call that gives a file its mode. */
function modeRule(argument: number): ArgumentTest {
  return whenAnyBit(argument, setIdBits, notThese);
}

const createFlag = 0o100;
const temporaryFileFlag = 0o2000_0000;

/** The mode counts only where a file is made: otherwise callers leave anything in its place. */
function openRule({ flags, mode }: { readonly flags: number; readonly mode: number }): ArgumentTest {
  return whenAnyBit(flags, createFlag | temporaryFileFlag, { yes: modeRule(mode), no: 'allow' });
}

const fileTypeBits = 0o170000;
const regularFile = 0o100000;
const fifo = 0o010000;

/** Regular files (which zero also means) and FIFOs, as `mkfifo` makes them; no device, no dead socket. */
function makeNodeRule(mode: number): ArgumentTest {
  const permitted = { mask: fileTypeBits | setIdBits, values: [0, regularFile, fifo] };
  return whenBits(mode, permitted, onlyThese);
}

// A whiteout is a device file: what `mknod` may not make.
const renameWhiteout = 0x4;
const renameRule = whenAnyBit(4, renameWhiteout, notThese);

const fastOpenFlag = 0x2000_0000;

/** A fast open connects without `connect`, past what is checked there. */
function sendRule(flags: number): ArgumentTest {
  return whenAnyBit(flags, fastOpenFlag, notThese);
}

const levelTcp = 6;
const tcpOptions = { fastOpen: 23, fastOpenConnect: 30, upperLayerProtocol: 31, fastOpenKey: 33, fastOpenNoCookie: 34 };

/** An upper layer protocol would put other kernel code behind a TCP socket: TLS, or SMC, which is no TCP any more. */
const setSocketOptionRule = whenOneOf(1, [levelTcp], {
  yes: whenOneOf(2, Object.values(tcpOptions), notThese),
  no: 'allow',
});

/** The flag MFD_NOEXEC_SEAL: else a file that no path rule knows could be executed. */
const memoryFileNoExec = 0x8;
const memoryFileRule = whenBits(1, { mask: memoryFileNoExec, values: [memoryFileNoExec] }, onlyThese);

/** Asking, and the personality that every process has. */
const personalityRule = whenOneOf(0, [0, allBits], onlyThese);

/** The limits of one's own process: the call also knows those of others. */
const resourceLimitRule = whenOneOf(0, [0], onlyThese);

const setModeFilter = 1;
/** Without NEW_LISTENER and what belongs to it. */
const filterFlags = { sync: 1, log: 2, speculationAllowed: 4, syncErrors: 16 };
const otherFilterFlags = ~Object.values(filterFlags).reduce((all, flag) => all | flag, 0) >>> 0;

/**
 * A program may narrow itself further: of several filters the strictest answer counts. It gets no descriptor through which one
 * process answers the calls of another.
 */
const seccompRule = whenOneOf(0, [setModeFilter], {
  yes: whenAnyBit(1, otherFilterFlags, { yes: 'EINVAL', no: 'allow' }),
  no: 'allow',
});

const terminalRequests = {
  /** Types into a terminal as if its user did. */
  simulateInput: 0x5412,
  /** Selects and pastes on a console. */
  linuxConsole: 0x541c,
  redirectConsole: 0x541d,
  /** Puts other kernel code behind a terminal. */
  lineDiscipline: 0x5423,
  hangUp: 0x5437,
};
/** Makes a terminal one's own. With any argument but 0 also one that another session has. */
const takeTerminal = 0x540e;
/** On `/dev/userfaultfd`, what the call of that name does. */
const newUserFaultDescriptor = 0xaa00;
/** What `chattr` does. */
const fileFlagRequests = { setFlags: 0x4008_6602, setExtendedFlags: 0x401c_5820 };

function controlRule({ restrictMetadata }: { readonly restrictMetadata: boolean }): ArgumentTest {
  const refused = [...Object.values(terminalRequests), newUserFaultDescriptor];
  const metadata = restrictMetadata ? Object.values(fileFlagRequests) : [];
  return whenOneOf(1, [takeTerminal], {
    yes: whenOneOf(2, [0], onlyThese),
    no: whenOneOf(1, [...refused, ...metadata], notThese),
  });
}

/**
 * The options of `prctl` that a program may use. Not among them, for a reason: PR_SET_MM (what a process says it is),
 * PR_SET_PTRACER, PR_SET_SECUREBITS and PR_SET_KEEPCAPS, PR_SET_SPECULATION_CTRL, PR_SET_MEMORY_MERGE (reveals what other
 * processes hold in memory), PR_SET_IO_FLUSHER, PR_SCHED_CORE, PR_SET_SYSCALL_USER_DISPATCH.
 */
const options = {
  setParentDeathSignal: 1,
  getParentDeathSignal: 2,
  getDumpable: 3,
  setDumpable: 4,
  getKeepCapabilities: 7,
  setName: 15,
  getName: 16,
  getSeccomp: 21,
  // Narrows only, as the call `seccomp` does, and has no flags.
  setSeccomp: 22,
  readBoundingSet: 23,
  dropFromBoundingSet: 24,
  getSecureBits: 27,
  setTimerSlack: 29,
  getTimerSlack: 30,
  setChildSubreaper: 36,
  getChildSubreaper: 37,
  // The kernel takes 1 only.
  setNoNewPrivileges: 38,
  getNoNewPrivileges: 39,
  setHugePagesDisabled: 41,
  getHugePagesDisabled: 42,
  // Raising a capability takes having it.
  ambientCapabilities: 47,
  setVectorLength: 50,
  getVectorLength: 51,
  getSpeculationControl: 52,
  resetPointerKeys: 54,
  setTaggedAddresses: 55,
  getTaggedAddresses: 56,
  setEnabledPointerKeys: 60,
  getEnabledPointerKeys: 61,
  setMatrixVectorLength: 63,
  getMatrixVectorLength: 64,
  setDenyWriteExecute: 65,
  getDenyWriteExecute: 66,
  getShadowStack: 74,
  setShadowStack: 75,
  lockShadowStack: 76,
  getAuxiliaryVector: 0x4155_5856,
  nameMemory: 0x5356_4d41,
};

/** Other options are answered as by a kernel that does not know them: what programs expect of `prctl`. */
const processControlRule = whenOneOf(0, Object.values(options), { yes: 'allow', no: 'EINVAL' });

/** What the filter of a contained process depends on. */
export interface FilterGrants {
  readonly architecture: Architecture;
  /** TCP sockets, IPv4 and IPv6. Where they may connect to is for others to say: a filter sees no address. */
  readonly tcp: boolean;
  /** No class grants it: neither name look-ups nor QUIC could be held to a list of hosts. */
  readonly udp: false;
  /** Sockets of this machine that can be connected to by name. Pairs of connected ones need no grant. */
  readonly unixSockets: boolean;
  /** Binding and listening, for every family whose sockets may be made: a filter cannot distinguish them there. */
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
  const rules = new Map<number, Rule>();
  for (const [name, number] of syscalls) rules.set(number, listed.get(name) ?? 'EPERM');
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
 * An Internet socket that was not granted is forbidden, so that the message says what happened.
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
