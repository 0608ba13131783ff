/** Holds the body of a request until all of it is there: of one whose hash is signed, or that a person is asked about. */

import type { Socket } from 'node:net';

import { GatheredBytes } from '@svc/kit/gathered-bytes.ts';
import { maxHeldBytes } from '@svc/kit/keys/held-request.ts';
import type { BoundNetwork } from './bound-network.ts';
import type { EgressLimits } from './egress-rules.ts';
import { MalformedBody, readBody } from './forward-request.ts';
import { headerValues, type ProxyRefusal, type RequestHead } from './message-heads.ts';
import type { SocketReader } from './socket-reader.ts';

interface Holding {
  readonly head: RequestHead;
  readonly reader: SocketReader;
  readonly client: Socket;
  readonly network: BoundNetwork;
  readonly limits: Pick<EgressLimits, 'idleMs'>;
}

type Held =
  | { readonly kind: 'held'; readonly body: Buffer }
  /** `why` is a clause about the request. */
  | { readonly kind: 'refused'; readonly status: ProxyRefusal['status']; readonly why: string };

/** The bytes of all requests of a network together: a program may make hundreds at once. */
const maxAllBytes = 32 * 1024 * 1024;
const allBytes = new WeakMap<BoundNetwork, number>();

/** The body of one request, which counts until it is released. */
export class HeldBody {
  readonly #holding: Holding;
  #bytes = 0;

  constructor(holding: Holding) {
    this.#holding = holding;
  }

  /** Reads the body, and gives it back to the reader without its chunks. `why` it has to be there, as a clause, is for one that is too long. */
  async read(why: string): Promise<Held> {
    const { head, reader, client, limits } = this.#holding;
    const tooLong = `its body has more than ${maxHeldBytes} bytes, and ${why}`;
    const refused = (status: ProxyRefusal['status'], why: string): Held => ({ kind: 'refused', status, why });
    if (head.framing.kind === 'length' && head.framing.bytes > maxHeldBytes) return refused(413, tooLong);
    if (headerValues(head.headers, 'expect').length > 0) client.write('HTTP/1.1 100 Continue\r\n\r\n');
    const gathered = new GatheredBytes();
    const late = setTimeout(() => client.destroy(), limits.idleMs);
    try {
      for await (const piece of readBody(reader, head.framing)) {
        gathered.append(piece);
        if (gathered.length > maxHeldBytes) return refused(413, tooLong);
        if (!this.#take(piece.length)) return refused(503, 'too many others are held until their bodies are there');
      }
    } catch (error) {
      if (!(error instanceof MalformedBody)) throw error;
      return refused(400, 'its body could not be read whole');
    } finally {
      clearTimeout(late);
    }
    const body = gathered.take();
    reader.unread(body);
    return { kind: 'held', body };
  }

  /** Harmless where nothing is held. */
  release(): void {
    this.#take(-this.#bytes);
  }

  #take(bytes: number): boolean {
    const { network } = this.#holding;
    const all = (allBytes.get(network) ?? 0) + bytes;
    if (all > maxAllBytes) return false;
    this.#bytes += bytes;
    allBytes.set(network, all);
    return true;
  }
}
