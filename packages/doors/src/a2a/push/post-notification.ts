/** Sends one notification to an address outside, and says what became of it. */

import { isIP, type LookupFunction } from 'node:net';

import type { Clock } from '@svc/kit/clock.ts';
import { responseOf, startRequest } from '@svc/kit/net/connections.ts';
import { isNetworkError, networkReason } from '@svc/kit/net/network-reason.ts';
import { checkedAddresses, type HostResolver, NoAddress } from '@svc/kit/net/resolver.ts';
import type { PushRule } from './push-rule.ts';

/** What became of one request. `why` is a clause for a person. */
export type Posted =
  | { readonly kind: 'taken' }
  /** The receiver wants no more of them. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly why: string }
  /** Its name leads to an address that nothing is pushed to. */
  | { readonly kind: 'refused'; readonly why: string };

/** One request, the look-up of its host included. */
const withinMs = 10_000;

export interface PostSettings {
  readonly rule: PushRule;
  readonly resolver: HostResolver;
  readonly clock: Pick<Clock, 'after'>;
}

export interface Notification {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Aborted where nobody waits for the outcome any more. */
  readonly signal: AbortSignal;
}

/**
 * Posts over a connection of its own to an address that was checked a line before. Follows no redirect, uses no proxy, reads nothing of the
 * answer but its status, and is over within ten seconds. Never rejects for what a receiver or a network does.
 */
export async function postNotification(notification: Notification, settings: PostSettings): Promise<Posted> {
  const late = new AbortController();
  const cancelTimer = settings.clock.after(withinMs, () => late.abort());
  const signal = AbortSignal.any([late.signal, notification.signal]);
  try {
    return await post({ ...notification, signal }, settings);
  } catch (error) {
    if (signal.aborted) return { kind: 'failed', why: `no answer within ${withinMs / 1000} s` };
    if (!isNetworkError(error)) throw error;
    return { kind: 'failed', why: networkReason(error) };
  } finally {
    cancelTimer();
  }
}

async function post({ url, headers, body, signal }: Notification, { rule, resolver }: PostSettings): Promise<Posted> {
  const faultOf = (address: string): string | undefined => rule.addressFault(url, address);
  const checked = await checkedAddresses(url.hostname, { resolver, faultOf }, signal);
  if (checked.kind === 'refused') return { kind: 'refused', why: checked.fault };
  if (checked.kind === 'failed')
    return { kind: 'failed', why: networkReason(new NoAddress(url.hostname, checked.reason)) };
  const asked = startRequest(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    lookup: only(checked.addresses),
    signal,
  });
  const answer = responseOf(asked);
  asked.end(body);
  const { statusCode: status = 0 } = await answer;
  // What it answers beside its status may be of any length.
  asked.destroy();
  if (status >= 200 && status < 300) return { kind: 'taken' };
  return status === 410 ? { kind: 'gone' } : { kind: 'failed', why: `it answered ${status}` };
}

/** The addresses that were checked, whatever the name resolves to by now. */
function only(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, callback) => {
    if (all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };
}
