/** The referee of a machine, as a runtime asks it (D2 "Endpoints"). */

import { asJsonObject } from '@svc/protocol/json-object.ts';
import {
  approvalHeader,
  credentialHeader,
  decodeCredential,
  decodeGrant,
  decodeSessionReport,
  encodeDeregisterRequest,
  encodeRegisterRequest,
  encodeSpawnRequest,
  type DeregisterRequest,
  type Grant,
  type RegisterRequest,
  type SessionReport,
  type SpawnRequest,
} from '@svc/protocol/referee-messages.ts';
import { ClientError } from './client-error.ts';
import { type DoorOptions, HttpDoor } from './http-door.ts';

export interface RefereeCall {
  readonly signal?: AbortSignal | undefined;
}

/** A refusal is `refused`, with the referee's sentence as its `refusal`. No message contains credentials or approvals. */
export class RefereeClient {
  readonly #door: HttpDoor;

  constructor(options: Omit<DoorOptions, 'token'>) {
    this.#door = new HttpDoor(options);
  }

  /** Resolves where a referee listens, which answers with an empty object. Throws `bad-answer` for any other answer. */
  async health({ signal }: RefereeCall = {}): Promise<void> {
    this.#read(await this.#door.json({ method: 'GET', target: '/health', signal }), asJsonObject);
  }

  /** Registers a session, with the approval of its launch; returns its credential. */
  async register(
    request: RegisterRequest,
    { approval, signal }: RefereeCall & { readonly approval?: string } = {},
  ): Promise<string> {
    const headers: Record<string, string> = approval === undefined ? {} : { [approvalHeader]: approval };
    return this.#read(
      await this.#post('/register', encodeRegisterRequest(request), { headers, signal }),
      decodeCredential,
    );
  }

  /** Asks whether a child may be spawned. */
  async spawn(
    request: SpawnRequest,
    { credential, signal }: RefereeCall & { readonly credential: string },
  ): Promise<Omit<Grant, 'expiresAtMs'> & { readonly expiresAtMs: number | null }> {
    const headers = { [credentialHeader]: credential };
    return this.#read(await this.#post('/spawn', encodeSpawnRequest(request), { headers, signal }), decodeGrant);
  }

  /** Ends a session, or a child of it. */
  async deregister(
    request: DeregisterRequest,
    { credential, signal }: RefereeCall & { readonly credential: string },
  ): Promise<void> {
    const headers = { [credentialHeader]: credential };
    await this.#post('/deregister', encodeDeregisterRequest(request), { headers, signal });
  }

  /** Returns null for a session that was never registered there. */
  async status(sessionId: string, { signal }: RefereeCall = {}): Promise<SessionReport | null> {
    try {
      const target = `/status/${encodeURIComponent(sessionId)}`;
      return this.#read(await this.#door.json({ method: 'GET', target, signal }), decodeSessionReport);
    } catch (error) {
      if (error instanceof ClientError && error.status === 404) return null;
      throw error;
    }
  }

  async #post(
    target: string,
    body: string,
    { headers, signal }: { readonly headers: Record<string, string>; readonly signal?: AbortSignal | undefined },
  ): Promise<unknown> {
    const typed = { ...headers, 'content-type': 'application/json' };
    return await this.#door.json({ method: 'POST', target, headers: typed, body, signal });
  }

  #read<Value>(body: unknown, decode: (body: unknown) => Value | null): Value {
    const value = decode(body);
    if (value !== null) return value;
    throw new ClientError('bad-answer', `what answers at ${this.#door.url} is no referee`);
  }
}
