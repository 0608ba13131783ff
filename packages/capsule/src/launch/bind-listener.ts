/** Binds the port that a capsule is reached at. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { isLoopbackAddress } from '@svc/kit/http/hygiene.ts';
import type { HttpServer } from '@svc/kit/http/server.ts';

interface ListenerAddress {
  /** `--bind` as given. */
  readonly bind: string;
  /** `network.internal_port`; undefined lets the system choose. */
  readonly internalPort: number | undefined;
  /** Whether `SVC_LISTENER_TOKEN` guards the listener. */
  readonly hasToken: boolean;
}

export interface BoundListener {
  readonly port: number;
  /** `ip:port` it is bound to, IPv6 in brackets. */
  readonly address: string;
  /** `host:port` that the listener answers on: `localhost` unless it was bound to an address of its own. */
  readonly advertised: string;
  /** Whether other machines reach it. */
  readonly isPublic: boolean;
  readonly warnings: readonly Diagnostic[];
}

/** Addresses on which a listener is reached by the name `localhost`; on many machines that is no name of `::1`. */
const localhostAnswers = new Set(['127.0.0.1', '0.0.0.0', '::']);

/** Binds the listener, exactly the declared port when there is one: a taken one is `E-RUN-010` (D1 "Command line" 5). */
export async function bindListener(server: HttpServer, address: ListenerAddress): Promise<BoundListener> {
  const { bind, internalPort, hasToken } = address;
  const outcome = await server.bind({ address: bind, port: internalPort ?? 0 });
  switch (outcome.kind) {
    case 'bound': {
      const isPublic = !isLoopbackAddress(outcome.address);
      const host = localhostAnswers.has(outcome.address) ? 'localhost' : bracketed(outcome.address);
      const advertised = `${host}:${outcome.port}`;
      return {
        port: outcome.port,
        address: `${bracketed(outcome.address)}:${outcome.port}`,
        advertised,
        isPublic,
        warnings: isPublic && !hasToken ? [openDoor(bind)] : [],
      };
    }
    case 'port-taken':
      throw new Diagnostic('E-RUN-010', `port ${internalPort} of network.internal_port is already bound`, {
        hint: 'stop what listens there (svc ps), choose another port, or leave the key out',
      });
    case 'refused':
      throw new Diagnostic('E-RUN-011', `the listener cannot bind ${bind}: ${systemReason({ code: outcome.reason })}`, {
        hint: 'give an address of this machine with --bind, such as 127.0.0.1 or 0.0.0.0',
      });
  }
}

function openDoor(bind: string): Diagnostic {
  return new Diagnostic('W-SEC-031', `the listener on ${bind} accepts other machines without a token`, {
    hint: 'set SVC_LISTENER_TOKEN to require a bearer token, or give each client its own with svc token add',
  });
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
