import { type ArgumentTest, type Rule, whenBits, whenOneOf } from './rule.ts';

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
export function socketRule({
  tcp,
  unixSockets,
}: {
  readonly tcp: boolean;
  readonly unixSockets: boolean;
}): ArgumentTest {
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
export function socketPairRule({ unixSockets }: { readonly unixSockets: boolean }): ArgumentTest {
  const connected = [type.stream, type.sequenced];
  const types = unixSockets ? [...connected, type.datagram] : connected;
  return whenOneOf(0, [family.unix], {
    yes: whenBits(1, ofType(...types), { yes: 'allow', no: 'EPERM' }),
    no: 'EAFNOSUPPORT',
  });
}
