/** What a parent and its child know each other by when the child asks for an approval: a key that both hold, and nobody else. */

import { createHmac, timingSafeEqual } from 'node:crypto';

import type { Clock } from '@svc/kit/clock.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { PassedAnswer, PassedQuestion } from '@svc/protocol/passed-question.ts';

const shape = /^[0-9a-f]{64}$/;

/**
 * A parent writes the key to its child's standard input. The child shows a token that is made of it. Who is shown that token, as another program at the
 * address of a parent that has ended, can ask with it, and cannot answer: each answer has a seal that only the key makes.
 */
export class ChildKey {
  /** What the child shows its parent. */
  readonly token: Secret;
  readonly #key: Secret;

  private constructor(key: Secret) {
    this.#key = key;
    this.token = new Secret(`svc_child_${this.#hash('ask')}`);
  }

  static mint(clock: Pick<Clock, 'randomBytes'>): ChildKey {
    return new ChildKey(new Secret(Buffer.from(clock.randomBytes(32)).toString('hex')));
  }

  /** Returns null for a text that is no key. */
  static parse(text: string): ChildKey | null {
    return shape.test(text) ? new ChildKey(new Secret(text)) : null;
  }

  /** As the child reads it. */
  reveal(): string {
    return this.#key.reveal();
  }

  /** What `hashOf` gives for the token. */
  get tokenHash(): string {
    return hashOf(this.token.reveal());
  }

  seal({ id, digest }: Pick<PassedQuestion, 'id' | 'digest'>, { decision, option, note, by }: PassedAnswer): string {
    return this.#hash(JSON.stringify(['answer', id, digest, decision, option, note, by]));
  }

  /** Whether the parent gave this answer to this question. */
  holds(question: Pick<PassedQuestion, 'id' | 'digest'>, answer: PassedAnswer & { readonly seal: string }): boolean {
    const [expected, shown] = [this.seal(question, answer), answer.seal].map((text) => Buffer.from(text));
    return expected?.length === shown?.length && timingSafeEqual(expected ?? empty, shown ?? empty);
  }

  #hash(text: string): string {
    return createHmac('sha256', this.#key.reveal()).update(text).digest('base64url');
  }
}

const empty = Buffer.alloc(0);

/** By which a token is looked up, so that how long that takes says nothing of it. */
export function hashOf(token: string | Buffer): string {
  return sha256Hex(token);
}
