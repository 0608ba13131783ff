/** Stands in for the tokens of the referee where those are to cost nothing. */

import type { Approval, Tokens as SealedTokens } from '@svc/referee/tokens.ts';

/** As long as what stands before the serial in a real token, so that both servers read and write requests of one size. */
const credentialHead = `msc1.${'A'.repeat(43)}`;
const approvalHead = `msa1.${'A'.repeat(180)}`;

/** The floor of `referee-cycles`: tokens that nobody seals and everybody believes. A token is a constant text and a serial. */
export class Tokens implements Pick<SealedTokens, keyof SealedTokens> {
  readonly #approvals = new Map<number, Approval>();

  mintCredential(session: number): string {
    return credentialHead + String(session);
  }

  verifyCredential(text: string): number {
    return Number(text.slice(credentialHead.length));
  }

  mintApproval(approval: Approval): string {
    this.#approvals.set(approval.serial, approval);
    return approvalHead + String(approval.serial);
  }

  verifyApproval(text: string): Approval | null {
    const serial = Number(text.slice(approvalHead.length));
    const approval = this.#approvals.get(serial) ?? null;
    this.#approvals.delete(serial);
    return approval;
  }
}
