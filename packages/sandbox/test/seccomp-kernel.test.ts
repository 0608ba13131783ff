import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { assemble } from '../src/seccomp/assemble.ts';
import { type FilterGrants, syscallPolicy } from '../src/seccomp/policy.ts';
import { auditOf, type Call, everyCall, everyGrant } from './seccomp-cases.ts';
import { canProbe, hostArchitecture, isRoot, isUnrestricted, SeccompHost } from './seccomp-host.ts';
import { simulate, withAllowAs } from './seccomp-simulator.ts';

const architecture = hostArchitecture ?? 'x86_64';
const isX86 = architecture === 'x86_64';
const nothing = {
  architecture,
  udp: false,
  tcp: false,
  unixSockets: false,
  listen: false,
  ipc: false,
  restrictMetadata: false,
} as const;
const everything = { ...nothing, tcp: true, unixSockets: true, listen: true, ipc: true } as const;

/** Newer kernels ask no filter about these, and end a process that calls them. */
const unfiltered = new Set(['uretprobe', 'uprobe']);

const foreign = isX86 ? [0x40000000, 0x40000101, 0x80000000, 0xffffffff] : [];
const calls: readonly Call[] = [
  ...everyCall(architecture).filter(({ name }) => !unfiltered.has(name ?? '')),
  ...foreign.map((number) => ({ name: undefined, number, args: [] })),
];

/** An error that no call gives: what the kernel would have allowed. */
const allowed = 999;

/** Refused whatever is granted. Numbers are errno values: 1 EPERM, 22 EINVAL, 38 ENOSYS, 97 EAFNOSUPPORT. */
const alwaysRefused = {
  unshare_user: '1',
  clone_user: '1',
  clone_user_high: '1',
  cloned_by_clone3: '38',
  clone_parent: '1',
  clone_untraced: '1',
  enter_namespace: '1',
  mount_new: '1',
  remount: '1',
  pivot: '1',
  change_root: '1',
  open_mount_context: '1',
  open_mount_tree: '1',
  trace_me: '1',
  read_memory: '1',
  take_descriptor: '1',
  limit_parent: '1',
  make_map: '1',
  open_performance_event: '1',
  set_up_ring: '1',
  fault_by_call: '1',
  fault_by_device: '1',
  keyring: '1',
  add_key: '1',
  file_handle: '1',
  type_in_terminal: '1',
  type_in_terminal_high: '1',
  steal_terminal: '1',
  fixed_addresses: '1',
  executable_memory_file: '1',
  bit_by_openat: '1',
  bit_by_openat_high: '1',
  bit_by_mknodat: '1',
  bit_by_openat2: '38',
  bit_by_temporary: '1',
  bit_by_fchmod: '1',
  bit_by_fchmodat: '1',
  bit_by_fchmodat2: '1',
  character_device: '1',
  block_device: '1',
  whiteout: '1',
  whiteout_by_rename: '1',
  socket_udp: '1',
  socket_raw: '1',
  socket_old_packet: '1',
  socket_packet: '97',
  socket_netlink: '97',
  socket_netlink_high: '97',
  socket_vsock: '97',
  socket_mptcp: '1',
  pair_raw: '1',
  fast_open: '1',
  fast_open_option: '1',
  memory_map_of_process: '22',
  listen_to_calls: '22',
  widen_itself: '1',
  unknown_call: '38',
};
const refusedOnX86 = {
  bit_by_open: '1',
  bit_by_creat: '1',
  bit_by_mknod: '1',
  bit_by_chmod: '1',
  group_bit_by_chmod: '1',
  call_i386: 'signal 31',
  call_x32: 'signal 31',
};
const alwaysAllowed = {
  clone_plain: '0',
  clone_plain_high: '0',
  limit_self: '0',
  ask_terminal: '0',
  take_terminal: '0',
  ask_personality: '0',
  sealed_memory_file: '0',
  plain_mode: '0',
  open_with_garbage: '0',
  make_fifo: '0',
  exchange: '0',
  pair_stream: '0',
  no_delay_option: '0',
  process_name: '0',
  narrow_itself: '0',
  thread: '0',
  change_owner: '0',
  change_times: '0',
  set_attribute: '0',
  watch_files: '0',
  landlock_version: '0',
};
/** Each by what it takes to be allowed. */
const withoutGrants = {
  socket_unix: '97',
  socket_unix_datagram: '97',
  socket_unix_raw: '97',
  pair_datagram: '1',
  socket_tcp: '1',
  socket_tcp6: '1',
  socket_tcp_high: '1',
  connect_tcp: '1',
  bind_tcp: '1',
  listen_unbound: '1',
  shared_memory: '1',
};
const withGrants = {
  socket_unix: '0',
  socket_unix_datagram: '0',
  // What the kernel would make a datagram socket of has no grant of its own.
  socket_unix_raw: '1',
  pair_datagram: '0',
  socket_tcp: '0',
  socket_tcp6: '0',
  socket_tcp_high: '0',
  connect_tcp: '0',
  bind_tcp: '0',
  listen_unbound: '0',
  shared_memory: '0',
};

/** A device that is root's own: nobody else gets as far as to be refused. */
const inaccessible = { fault_by_device: '13' };

const always = {
  ...alwaysRefused,
  ...(isX86 ? refusedOnX86 : {}),
  ...alwaysAllowed,
  ...(isRoot ? {} : inaccessible),
};

describe.skipIf(!canProbe)('the kernel with the filter (skipped without a C compiler)', () => {
  let host: SeccompHost;
  beforeAll(() => {
    host = new SeccompHost();
  });
  afterAll(() => host.close());

  // None of the grants, each on its own, all of them.
  it.each(everyGrant(architecture).filter((_, bits) => [0, 1, 2, 4, 8, 16, 31].includes(bits)))(
    'decides every call as the simulator does: tcp $tcp, unix $unixSockets, listen $listen, ipc $ipc, metadata $restrictMetadata',
    (grants) => {
      const filter = assemble(syscallPolicy(grants));
      const found = host.verdicts(withAllowAs(filter, allowed), calls);
      expect(found.length).toBe(calls.length);
      const wrong = calls.filter(({ number, args }, index) => {
        const { verdict } = simulate(filter, { number, audit: auditOf[architecture], args });
        const inKernel = { [allowed]: 'allow', [-1]: 'kill' }[found[index] ?? 0] ?? found[index];
        return verdict !== inKernel;
      });
      expect(wrong).toEqual([]);
    },
  );

  const seenBy = (grants: FilterGrants, uid?: number) => host.attempts(host.filterFor(grants), uid);

  it('refuses every attempt that no grant is for, and what was not granted', () => {
    expect(seenBy(nothing)).toEqual({ ...always, ...withoutGrants });
  });

  it('refuses no less when everything is granted that can be', () => {
    expect(seenBy(everything)).toEqual({ ...always, ...withGrants });
  });

  it('refuses the same to an ordinary user', (context) => {
    context.skip(!isRoot, 'needs root to become another user');
    expect(seenBy(nothing, 1000)).toEqual({ ...always, ...withoutGrants, ...inaccessible });
    expect(seenBy(everything, 1000)).toEqual({ ...always, ...withGrants, ...inaccessible });
  });

  it('refuses every change of metadata where that is asked for, and nothing else', () => {
    expect(seenBy({ ...everything, restrictMetadata: true })).toEqual({
      ...always,
      ...withGrants,
      plain_mode: '1',
      change_owner: '1',
      change_times: '1',
      set_attribute: '1',
    });
  });

  it('grants each thing on its own', () => {
    const changed = (grant: Partial<FilterGrants>) => {
      const seen = seenBy({ ...nothing, ...grant });
      return Object.entries({ ...always, ...withoutGrants }).flatMap(([name, without]) =>
        seen[name] === without ? [] : [name],
      );
    };
    expect(changed({ tcp: true })).toEqual(['socket_tcp', 'socket_tcp6', 'socket_tcp_high', 'connect_tcp']);
    expect(changed({ unixSockets: true })).toEqual([
      'socket_unix',
      'socket_unix_datagram',
      'socket_unix_raw',
      'pair_datagram',
      'connect_tcp',
    ]);
    expect(changed({ listen: true })).toEqual(['bind_tcp', 'listen_unbound']);
    expect(changed({ ipc: true })).toEqual(['shared_memory']);
  });

  it('would let root do all of it without a filter', (context) => {
    context.skip(!isUnrestricted(), 'needs root with every right');
    const failed = Object.entries(host.attempts(null)).filter(([, outcome]) => outcome !== '0');
    // Few kernels have x32, and none has the last.
    const possible = { call_x32: '38', unknown_call: '38' };
    expect(Object.fromEntries(failed)).toEqual(isX86 ? possible : { unknown_call: '38' });
  });
});
