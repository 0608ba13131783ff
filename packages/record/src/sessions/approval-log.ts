/** Keeps what was asked for approval in a session and how it was settled, on the disk before it counts. */

import { closeSync, constants, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isSystemError, systemReason } from '@svc/kit/diagnostics/system-reason.ts';
import { appendWhole } from '@svc/kit/files/transfer-sync.ts';

export const approvalFile = 'approvals.jsonl';

/** One line. `id` and `digest` are those of the question; a call that was allowed earlier has the id of the question that allowed it. */
export type ApprovalRecord =
  | {
      readonly k: 'asked';
      readonly at: number;
      readonly id: string;
      readonly digest: string;
      readonly rule: string;
      readonly effect: unknown;
      readonly expires_at: number;
    }
  | {
      readonly k: 'settled';
      readonly at: number;
      readonly id: string;
      readonly digest: string;
      readonly decision: 'allow' | 'deny' | 'expired' | 'canceled';
      readonly option?: string;
      readonly by: string;
    }
  /** The call of a child was passed on to a person, or to the parent of this session. `of` is its question in the child's session. */
  | {
      readonly k: 'passed';
      readonly at: number;
      readonly id: string;
      readonly digest: string;
      readonly capsule: readonly string[];
      readonly session_id: string;
      readonly of: string;
      readonly expires_at: number;
    }
  /** The call runs now. */
  | { readonly k: 'started'; readonly at: number; readonly id: string; readonly digest: string };

export interface ApprovalLog {
  /** Returns once the line is on the disk. Throws the Diagnostic `E-IO-002` where it cannot be written; the file is as it was then. */
  write(record: ApprovalRecord): void;
  close(): void;
}

const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_WRONLY } = constants;

/** `approvals.jsonl` of a session, owner-only. It is made with its first line. */
export function openApprovalLog(directory: string): ApprovalLog {
  const path = join(directory, approvalFile);
  let descriptor: number | null = null;
  return {
    write: (record) => {
      try {
        const open = descriptor ?? create(path, directory);
        descriptor = open;
        appendWhole(open, [Buffer.from(`${JSON.stringify(record)}\n`)]);
        fdatasyncSync(open);
      } catch (error) {
        if (!isSystemError(error)) throw error;
        throw new Diagnostic('E-IO-002', `${path} cannot be written: ${systemReason(error)}`, { cause: error });
      }
    },
    close: () => {
      if (descriptor !== null) closeSync(descriptor);
      descriptor = null;
    },
  };
}

/** Its name is on the disk before a line is. */
function create(path: string, directory: string): number {
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_EXCL, 0o600);
  const folder = openSync(directory, O_RDONLY | O_DIRECTORY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
  return descriptor;
}
