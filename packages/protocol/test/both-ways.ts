import fc from 'fast-check';
import { expect } from 'vitest';

import type { ContextId, DelegationId, SessionId, TaskId } from '@svc/protocol/ids.ts';
import { anyCharacter } from '../../../test/support/any-character.ts';

export const text: fc.Arbitrary<string> = fc.string({ unit: anyCharacter, maxLength: 30 });
export const optional: fc.Arbitrary<string | null> = fc.option(text);
export const count: fc.Arbitrary<number> = fc.maxSafeNat();
export const hex = (length: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
export const session: fc.Arbitrary<SessionId> = hex(32).map((id) => `ses_${id}` as SessionId);
export const task: fc.Arbitrary<TaskId> = hex(32).map((id) => `tsk_${id}` as TaskId);
export const context: fc.Arbitrary<ContextId> = fc.string({ minLength: 1 }).map((id) => id as ContextId);
export const delegation: fc.Arbitrary<DelegationId> = fc
  .stringMatching(/^dlg_[0-9A-Za-z_-]{1,128}$/)
  .map((id) => id as DelegationId);
export const trust: fc.Arbitrary<'trusted' | 'untrusted'> = fc.constantFrom('trusted', 'untrusted');

/** As it comes over the wire. */
export const wired = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** What is read back of every value is the value. */
export function bothWays<Value>(values: fc.Arbitrary<Value>, thereAndBack: (value: Value) => unknown): void {
  fc.assert(
    fc.property(values, (value) => {
      expect(thereAndBack(value)).toEqual(value);
    }),
  );
}
