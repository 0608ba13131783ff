/** Counts the requests of a client that have no answer yet, and says when there are too many. */

type RequestId = string | number;

/** Limit for one client. A session that is joined has 256 streams for it: some stay free, through which answers to its questions come. */
const maxOpen = 240;
/** Limit for the messages that brought them, together. */
const maxOpenBytes = 64 * 1024 * 1024;

/** Why a request is refused. `isBusy`: the same one may be taken later. */
export interface Refused {
  readonly isBusy: boolean;
  readonly why: string;
}

/** Requests of one connection. */
export class OpenRequests {
  readonly #bytes = new Map<RequestId, number>();
  #together = 0;

  /** Returns null for one that is taken, and open from now on. */
  open(id: RequestId, bytes: number): Refused | null {
    if (this.#bytes.has(id)) {
      return { isBusy: false, why: 'Invalid Request: a request with this id waits for its answer already' };
    }
    if (this.#bytes.size >= maxOpen) {
      return { isBusy: true, why: `${maxOpen} requests wait for their answers already` };
    }
    if (this.#together + bytes > maxOpenBytes) {
      return { isBusy: true, why: `the requests that wait for their answers may have ${maxOpenBytes} bytes together` };
    }
    this.#bytes.set(id, bytes);
    this.#together += bytes;
    return null;
  }

  /** It has its answer, or is taken back. */
  settle(id: RequestId): void {
    this.#together -= this.#bytes.get(id) ?? 0;
    this.#bytes.delete(id);
  }
}
