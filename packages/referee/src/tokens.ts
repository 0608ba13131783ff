/** The tokens that the referee hands out: credentials of sessions and approvals of launches. */

import { MacKey } from './mac-key.ts';

/** What an approval says: who granted it, which artifact to, and what the child may do (D2 "Tokens"). */
export interface Approval {
  /** Of this approval alone. */
  readonly serial: number;
  /** The session that granted it. */
  readonly parent: number;
  /** Levels of delegation that the child may use. */
  readonly depthRemaining: number;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  /** On the referee's own clock, which only rises. */
  readonly expiresAt: number;
}

const serialBytes = 6;
const keyBytes = 32;

/**
 * Mints credentials and approvals and knows its own again. The keys are drawn here and never leave: what another run of the program
 * minted does not verify (D2 "Tokens").
 */
export class Tokens {
  readonly #credentials: MacKey;
  readonly #approvals: MacKey;

  constructor(randomBytes: (size: number) => Uint8Array) {
    this.#credentials = new MacKey('msc1.', randomBytes(keyBytes));
    this.#approvals = new MacKey('msa1.', randomBytes(keyBytes));
  }

  /** `session` is the serial of its record: an id is a text of the caller's choice. */
  mintCredential(session: number): string {
    // Taken from the pool, and written whole.
    const payload = Buffer.allocUnsafe(serialBytes);
    payload.writeUIntBE(session, 0, serialBytes);
    return this.#credentials.seal(payload);
  }

  /** The session a credential names; null when this referee did not issue it. */
  verifyCredential(text: string): number | null {
    const payload = this.#credentials.open(text);
    return payload === null ? null : payload.readUIntBE(0, serialBytes);
  }

  mintApproval({ serial, parent, depthRemaining, name, version, sha256, expiresAt }: Approval): string {
    const fields: ApprovalFields = [serial, parent, depthRemaining, name, version, sha256, expiresAt];
    return this.#approvals.seal(Buffer.from(JSON.stringify(fields)));
  }

  /** What an approval says; null when this referee did not issue it. Whether it still holds is for the records to say. */
  verifyApproval(text: string): Approval | null {
    const payload = this.#approvals.open(text);
    if (payload === null) return null;
    // Its MAC says that these are bytes of `mintApproval`.
    const fields = JSON.parse(payload.toString()) as ApprovalFields;
    const [serial, parent, depthRemaining, name, version, sha256, expiresAt] = fields;
    return { serial, parent, depthRemaining, name, version, sha256, expiresAt };
  }
}

type ApprovalFields = [number, number, number, string, string, string, number];
