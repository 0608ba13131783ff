/** Lets components load that name sockets (`wasi:sockets`), as those of Python all do, and refuses each use: requests are `wasi:http`'s. */

import type { Imports } from './named-imports.ts';
import { HostObject } from './retained.ts';
import { raise } from './streams.ts';

/** A guest of any language has a word for this `error-code`, and can go on. */
const refuse = (): never => raise('access-denied');

/** Made for components that import it alone. The network itself can be held, because `instance-network` has no error to answer. */
export function sockets(): Imports {
  class Network extends HostObject {}
  class TcpSocket extends HostObject {}
  class UdpSocket extends HostObject {}
  class IncomingDatagramStream extends HostObject {}
  class OutgoingDatagramStream extends HostObject {}
  class ResolveAddressStream extends HostObject {}
  return {
    'wasi:sockets/instance-network': { instanceNetwork: () => new Network() },
    'wasi:sockets/ip-name-lookup': { ResolveAddressStream, resolveAddresses: refuse },
    'wasi:sockets/network': { Network, networkErrorCode: () => undefined },
    'wasi:sockets/tcp': { TcpSocket },
    'wasi:sockets/tcp-create-socket': { createTcpSocket: refuse },
    'wasi:sockets/udp': { IncomingDatagramStream, OutgoingDatagramStream, UdpSocket },
    'wasi:sockets/udp-create-socket': { createUdpSocket: refuse },
  };
}
