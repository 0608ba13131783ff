/** Attempts to reach what was not granted through sockets. */

import { join } from 'node:path';

import type { ProcessGrants } from '@svc/sandbox/launch/process-grants.ts';
import {
  type ProgramAttempt,
  programAttempt,
  type ProgramEntry,
  stopped,
  stoppedByProxy,
  stoppedFromScoped,
  stoppedInSealed,
  worksByProxy,
} from './attempt.ts';
import type { Surroundings } from './surroundings.ts';

const listed = '127.0.0.1';
const unlisted = '127.0.0.2';

/** One host and one port of it are listed. */
async function withListedHost({ servers }: Surroundings): Promise<Partial<ProcessGrants>> {
  return { networkAllow: [{ scheme: null, host: listed, port: await servers.tcpPort() }] };
}

const on =
  (host: string) =>
  async ({ servers, secret }: Surroundings) => [host, `${await servers.tcpPort()}`, secret];
const onUdp = async ({ servers, secret }: Surroundings) => [listed, `${await servers.udpPort()}`, secret];
const onOtherPort = async ({ servers, secret }: Surroundings) => [listed, `${await servers.otherPort()}`, secret];
const onPath = async ({ servers, outside, secret }: Surroundings) => [
  await servers.unixPath(join(outside, 'socket')),
  secret,
];
const onAbstract = async ({ servers, secret }: Surroundings) => [await servers.abstractName(), secret];
const withUnixSockets = { grants: () => ({ unixSockets: true }) } as const;

const withoutGrant: readonly ProgramEntry[] = [
  {
    name: 'tcp',
    title: 'connect to a TCP server of the host',
    program: 'connect-tcp',
    operands: on(listed),
    promises: stopped,
  },
  {
    name: 'mptcp',
    title: 'connect by multipath TCP',
    program: 'connect-mptcp',
    operands: on(listed),
    promises: stopped,
  },
  {
    name: 'fast-open',
    title: 'connect by TCP fast open',
    program: 'fast-open',
    operands: on(listed),
    promises: stopped,
  },
  {
    name: 'udp',
    title: 'exchange datagrams with a server of the host',
    program: 'ask-udp',
    operands: onUdp,
    promises: stopped,
  },
  { name: 'raw-socket', title: 'make a raw socket', program: 'raw-socket', promises: stopped },
  { name: 'packet-socket', title: 'make a packet socket', program: 'packet-socket', promises: stopped },
  { name: 'netlink-socket', title: 'make a netlink socket', program: 'netlink-socket', promises: stopped },
  { name: 'vsock-socket', title: 'make a socket to the hypervisor', program: 'vsock-socket', promises: stopped },
  {
    name: 'unix-path',
    title: 'connect to a UNIX socket of the host by its path',
    program: 'connect-unix',
    operands: onPath,
    promises: stopped,
  },
  {
    name: 'unix-abstract',
    title: 'connect to an abstract UNIX socket of the host',
    program: 'connect-unix',
    operands: onAbstract,
    promises: stopped,
  },
  { name: 'datagram-pair', title: 'make a pair of datagram sockets', program: 'datagram-pair', promises: stopped },
];

/** In `sealed` the proxy is the only way out; in the other classes the list is advisory. */
const withGrant: readonly ProgramEntry[] = [
  {
    name: 'listed-host-by-proxy',
    title: 'reach a listed host through the proxy',
    program: 'connect-by-proxy',
    operands: on(listed),
    grants: withListedHost,
    promises: worksByProxy,
  },
  {
    name: 'other-host-by-proxy',
    title: 'reach another host through the proxy',
    program: 'connect-by-proxy',
    operands: on(unlisted),
    grants: withListedHost,
    promises: stoppedByProxy,
  },
  {
    name: 'other-port-by-proxy',
    title: 'reach another port of a listed host through the proxy',
    program: 'connect-by-proxy',
    operands: onOtherPort,
    grants: withListedHost,
    promises: stoppedByProxy,
  },
  {
    name: 'listed-host-past-proxy',
    title: 'connect to a listed host without the proxy',
    program: 'connect-tcp',
    operands: on(listed),
    grants: withListedHost,
    promises: { advisory: 'works', scoped: 'works', sealed: 'stopped' },
  },
  {
    name: 'other-host',
    title: 'connect to another host when one is listed',
    program: 'connect-tcp',
    operands: on(unlisted),
    grants: withListedHost,
    promises: stoppedInSealed,
  },
  {
    name: 'other-port',
    title: 'connect to another port of a listed host',
    program: 'connect-tcp',
    operands: onOtherPort,
    grants: withListedHost,
    promises: stoppedInSealed,
  },
  {
    name: 'mptcp-to-listed',
    title: 'connect to a listed host by multipath TCP',
    program: 'connect-mptcp',
    operands: on(listed),
    grants: withListedHost,
    promises: stopped,
  },
  {
    name: 'fast-open-to-listed',
    title: 'connect to a listed host by TCP fast open',
    program: 'fast-open',
    operands: on(listed),
    grants: withListedHost,
    promises: stopped,
  },
  {
    name: 'listen',
    title: 'listen for connections when a host is listed',
    program: 'listen-tcp',
    grants: withListedHost,
    promises: stopped,
  },
  {
    name: 'listen-with-unix-sockets',
    title: 'listen for TCP connections of the host, with unix_sockets and a listed host',
    program: 'listen-tcp',
    grants: async (place) => ({ ...(await withListedHost(place)), unixSockets: true }),
    // What listens in a network of its own is heard by nobody else.
    promises: { advisory: 'stopped', scoped: 'stopped', sealed: 'open' },
  },
  {
    name: 'udp-when-listed',
    title: 'exchange datagrams, as name servers do, when a host is listed',
    program: 'ask-udp',
    operands: onUdp,
    grants: withListedHost,
    promises: stopped,
  },
  {
    name: 'unix-path-when-granted',
    title: 'connect to a UNIX socket of the host by its path, with unix_sockets',
    program: 'connect-unix',
    operands: onPath,
    ...withUnixSockets,
    promises: stoppedInSealed,
  },
  {
    name: 'unix-abstract-when-granted',
    title: 'connect to an abstract UNIX socket of the host, with unix_sockets',
    program: 'connect-unix',
    operands: onAbstract,
    ...withUnixSockets,
    promises: stoppedFromScoped,
  },
];

/** To reach the network, and other programs through sockets. */
export const networkAttempts: readonly ProgramAttempt[] = [...withoutGrant, ...withGrant].map(programAttempt);
