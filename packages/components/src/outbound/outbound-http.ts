/** Carries out the HTTP requests of one component, within its grants and limits. */

import type { Connections } from '@svc/kit/net/connections.ts';
import type { RequestJudge } from '@svc/kit/keys/bound-host.ts';
import type { HostResolver } from '@svc/kit/net/resolver.ts';
import { OutboundExchange } from './outbound-exchange.ts';
import type { Arrival, RemoteAnswers, RemoteRequest, RemoteWait } from './remote-messages.ts';
import { approvedPlan, type HttpGrants, planRequest, signedPlan } from './request-plan.ts';

const maxExchanges = 64;
/** For all requests together that their servers have not taken yet. */
export const maxUnsentBytes: number = 64 * 1024 * 1024;

/** What every connection of a component is held to. */
export interface ConnectionRules {
  readonly grants: HttpGrants;
  /** The host's own when absent. */
  readonly resolver?: HostResolver;
  /** For the resolver's answer; 10 s when absent. */
  readonly resolveMs?: number;
}

type Answer = RemoteAnswers[keyof RemoteAnswers];

/** The HTTP requests of one instance: made, limited and kept apart from those of every other. */
export class OutboundHttp {
  readonly #rules: ConnectionRules;
  readonly #exchanges = new Map<number, OutboundExchange>();
  #connections: Promise<Connections> | null = null;
  #last = 0;
  #closed = false;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  /** What the guest's process is answered. `judge` is that of the call at hand; null where it has none. */
  answer(request: RemoteRequest, judge: RequestJudge | null = null): Answer | Promise<Answer> {
    switch (request.operation) {
      case 'open':
        return this.#open(request, judge);
      case 'write':
        return this.#exchange(request.exchange).write(request.bytes);
      case 'finish':
        return this.#exchange(request.exchange).finish();
      case 'head':
        return this.#exchange(request.exchange).head();
      case 'read':
        return this.#read(this.#exchange(request.exchange), request.wait);
      case 'wait':
        return this.#wait(request);
      case 'close':
        return this.#close(request.exchange);
    }
  }

  async #open(
    { head, body }: Extract<RemoteRequest, { readonly operation: 'open' }>,
    judge: RequestJudge | null,
  ): Promise<RemoteAnswers['open']> {
    const { onExchange, onTraffic, onRefused } = this.#rules.grants;
    const asked = planRequest(head, body, this.#rules.grants);
    const approved = asked.kind === 'permitted' && asked.asks !== null ? await approvedPlan(asked, body, judge) : asked;
    const plan =
      approved.kind === 'permitted' && approved.signer !== null ? await signedPlan(approved, body) : approved;
    if (plan.kind === 'refused') {
      const { error, url, rule } = plan;
      if (url !== undefined) onRefused?.(url, rule);
      return { kind: 'refused', error };
    }
    if (this.#isFull(body.bytes.length)) return { kind: 'refused', error: { tag: 'connection-limit-reached' } };
    const { send } = await (this.#connections ??= openConnections(this.#rules));
    if (this.#closed) return { kind: 'refused', error: { tag: 'connection-terminated' } };
    this.#last += 1;
    const watch = { onExchange, onTraffic, onRefused };
    this.#exchanges.set(this.#last, OutboundExchange.start(plan, { timeouts: head, body, send, watch }));
    return { kind: 'opened', exchange: this.#last };
  }

  #isFull(bytes: number): boolean {
    const unsent = [...this.#exchanges.values()].reduce((sum, { unsentBytes }) => sum + unsentBytes, bytes);
    return this.#exchanges.size >= maxExchanges || unsent > maxUnsentBytes;
  }

  async #read(exchange: OutboundExchange, wait: boolean): Promise<RemoteAnswers['read']> {
    for (;;) {
      const answer = exchange.read();
      if (answer.kind !== 'pending' || !wait) return answer;
      await exchange.changed();
    }
  }

  async #wait(request: Extract<RemoteRequest, { readonly operation: 'wait' }>): Promise<RemoteAnswers['wait']> {
    const { waits, timeoutMs, takes } = request;
    const over = await this.#over(waits, timeoutMs);
    const [first] = over;
    const wait = first === undefined ? undefined : waits[first];
    return { over, arrival: takes && wait !== undefined ? this.#arrival(wait) : null };
  }

  #arrival({ exchange: number, event }: RemoteWait): Arrival {
    const exchange = this.#exchange(number);
    const head = event === 'head' ? { head: exchange.head() } : {};
    if (head.head !== undefined && head.head.kind !== 'arrived') return { exchange: number, ...head };
    const read = exchange.read();
    return { exchange: number, ...head, ...(read.kind === 'pending' ? {} : { read }) };
  }

  async #over(waits: readonly RemoteWait[], timeoutMs: number | null): Promise<readonly number[]> {
    const watched = waits.map(({ exchange, event }) => ({ exchange: this.#exchange(exchange), event }));
    const over = (): number[] =>
      watched.flatMap(({ exchange, event }, index) => (exchange.isReady(event) ? [index] : []));
    if (over().length > 0 || timeoutMs === 0) return over();
    let timer: NodeJS.Timeout | undefined;
    const stops: (() => void)[] = [];
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (over().length > 0) resolve();
      };
      for (const { exchange } of watched) stops.push(exchange.onChange(look));
      if (timeoutMs !== null) timer = setTimeout(resolve, timeoutMs);
    });
    clearTimeout(timer);
    for (const stop of stops) stop();
    return over();
  }

  #close(number: number): null {
    this.#exchanges.get(number)?.close();
    this.#exchanges.delete(number);
    return null;
  }

  #exchange(number: number): OutboundExchange {
    const exchange = this.#exchanges.get(number);
    return exchange ?? OutboundExchange.refused({ tag: 'connection-terminated' });
  }

  /** Ends every exchange and connection. */
  close(): void {
    this.#closed = true;
    for (const number of this.#exchanges.keys()) this.#close(number);
    void this.#connections?.then((connections) => connections.close());
  }
}

/** With the first request: most components make none. */
async function openConnections({ grants, ...rules }: ConnectionRules): Promise<Connections> {
  const { Connections } = await import('@svc/kit/net/connections.ts');
  const { proxyFor } = grants;
  if (proxyFor === undefined) return new Connections({ reach: grants, ...rules });
  const { ProxiedConnections } = await import('@svc/kit/net/proxied-connections.ts');
  return new Connections({ reach: grants, ...rules, proxied: new ProxiedConnections(proxyFor) });
}
