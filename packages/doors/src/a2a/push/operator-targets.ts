/** The targets that an operator may be notified at: an address of Standard Webhooks, or a topic of an ntfy server. */

import type { Clock } from '@svc/kit/clock.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import { destinationOf } from '@svc/kit/net/network-destination.ts';
import { systemResolver } from '@svc/kit/net/resolver.ts';
import { type Posted, postNotification } from './post-notification.ts';
import { PushRule } from './push-rule.ts';

/** One notification, as it waits to be sent (docs/boundary.md "Notifications"). */
export interface Notice {
  readonly type: 'question.asked' | 'task.ended' | 'refusal.serious';
  readonly timestamp: string;
  readonly data: Readonly<Record<string, string | number | undefined>>;
}

type Headers = Readonly<Record<string, string>>;

/** What takes the notifications of a session. */
export interface Target {
  /** What it is called in warnings and in the trace. Has no path of an address, which may be a secret. */
  readonly place: string;
  /** What notifications are signed with; null signs none. */
  readonly key: Uint8Array | null;
  /** Whether a try that failed means that nobody hears, until another succeeds. */
  readonly needsSuccess: boolean;
  /** `body` is the JSON of a Notice, `headers` are those of Standard Webhooks. Takes ten seconds at most. */
  readonly send: (headers: Headers, body: Uint8Array, signal: AbortSignal) => Promise<Posted>;
}

interface Address {
  readonly url: URL;
  readonly secret: Secret | null;
  readonly clock: Pick<Clock, 'after'>;
}

/** An address that gets the JSON. */
export function webhookTarget({ url, secret, clock }: Address): Target {
  const post = posting(url, clock);
  return {
    place: url.host,
    key: secret === null ? null : keyOf(secret),
    needsSuccess: false,
    send: async (headers, body, signal) => await post({ 'content-type': 'application/json', ...headers }, body, signal),
  };
}

/** A topic of an ntfy server, which gets the text (https://docs.ntfy.sh/publish/). `secret` is an access token. */
export function ntfyTarget({ url, secret, clock }: Address): Target {
  const post = posting(url, clock);
  const shown = secret === null ? {} : { authorization: `Bearer ${secret.reveal()}` };
  return {
    place: url.host,
    key: null,
    needsSuccess: false,
    send: async (_, body, signal) => {
      // It was made as one.
      const notice = JSON.parse(Buffer.from(body).toString()) as Notice;
      const headers = { 'content-type': 'text/plain; charset=utf-8', ...shown, ...ntfyHeaders(notice) };
      return await post(headers, Buffer.from(ntfyText(notice)), signal);
    },
  };
}

function posting(url: URL, clock: Address['clock']): Target['send'] {
  const destination = destinationOf(url);
  // The operator chose the host: it may lie in their own network, and never at an address that gives secrets away.
  const rule = new PushRule(destination === undefined ? [] : [{ destination, isPrivate: true }]);
  return async (headers, body, signal) =>
    await postNotification({ url, headers, body, signal }, { rule, resolver: systemResolver, clock });
}

/** As Standard Webhooks have it, a secret after `whsec_` is base64; any other is the key itself. */
function keyOf(secret: Secret): Buffer {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.reveal()) ?? [];
  return encoded === undefined ? Buffer.from(secret.reveal()) : Buffer.from(encoded, 'base64');
}

/** The name of a capsule is ASCII, and so is the title. 5 is the most urgent, and tags are short codes of emojis. */
function ntfyHeaders({ type, data: { capsule, state } }: Notice): Headers {
  switch (type) {
    case 'question.asked':
      return { title: `${capsule} asks`, priority: '4', tags: 'question' };
    case 'task.ended':
      return {
        title: `${capsule}: task ${state}`,
        priority: '3',
        tags: state === 'completed' ? 'white_check_mark' : 'x',
      };
    case 'refusal.serious':
      return { title: `${capsule}: serious refusal`, priority: '5', tags: 'rotating_light' };
  }
}

/** Bytes of a message. The server makes a file of a longer one, or refuses it, and counts one of 4,096 among those. */
const maxMessage = 4095;

function ntfyText({ data: { text = '', left_out, ...data } }: Notice): string {
  const ids = [data['session_id'], data['task_id'], data['approval_id']].filter((id) => id !== undefined).join(' ');
  const missed = left_out === undefined ? [] : [`${left_out} more were left out`];
  const about = [ids, ...missed].join('\n');
  return text === '' ? about : `${cut(String(text), maxMessage - about.length - 1)}\n${about}`;
}

/** At most so many bytes of UTF-8. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const mark = '…';
  // In a stream, a character that is not whole is held back.
  const whole = new TextDecoder().decode(bytes.subarray(0, maxBytes - Buffer.byteLength(mark)), { stream: true });
  return `${whole}${mark}`;
}
