import type { ExchangeSign } from '@svc/components/component.ts';
import type { InferenceCall } from './driver.ts';

type Listener = Pick<InferenceCall, 'onSign' | 'onRetry'>;

/**
 * What is seen from outside of the requests that a driver's component makes: each is a sign of life, and one after another within a call is a
 * retry, whatever the component says of it. Its calls are carried out in the order in which they are made.
 */
export class DriverRequests {
  readonly #calls = new Map<Listener, { last: string | null }>();

  /** A call has been made; the returned function ends it. */
  listen(call: Listener): () => void {
    this.#calls.set(call, { last: null });
    return () => this.#calls.delete(call);
  }

  readonly tell = (sign: ExchangeSign): void => {
    // One that waits for its turn lives as long as the one that is carried out.
    for (const call of this.#calls.keys()) call.onSign?.();
    const [current] = this.#calls;
    if (current === undefined) return;
    const [call, seen] = current;
    if (sign.kind === 'started' && seen.last !== null) call.onRetry?.(seen.last);
    if (sign.kind !== 'bytes') seen.last = reasonOf(sign);
  };
}

/** Why a request may be made again after this. */
function reasonOf(sign: Exclude<ExchangeSign, { kind: 'bytes' }>): string {
  switch (sign.kind) {
    case 'started':
      return 'the request before came to nothing';
    case 'answered':
      return sign.status === 200 ? 'the response broke off' : `the provider answered ${sign.status}`;
    case 'failed':
      return sign.error.replaceAll('-', ' ');
  }
}
