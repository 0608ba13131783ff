/** Puts the files that a call was not allowed to change behind its result, with the reasons, which its component does not hear. */

import { inertJson, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { CallVerdict, CheckedCall, FileOperation } from '../tools/tool.ts';

const maxTold = 5;
const maxPath = 200;

export type ApproveChange = (call: CheckedCall, change: FileOperation) => Promise<CallVerdict>;

/** The files of one call. */
export class UnchangedFiles {
  /** Judges a change; undefined where nobody does. */
  readonly approve: ApproveChange | undefined;
  readonly #told: string[] = [];
  #count = 0;

  /** `held` runs what may fail for a reason of the runtime's own. */
  constructor(judge: ApproveChange | null, held: (ask: () => Promise<CallVerdict>) => Promise<CallVerdict>) {
    if (judge === null) return;
    this.approve = async (call, change) => {
      const verdict = await held(() => judge(call, change));
      if (verdict.kind === 'deny') this.#tell(change, verdict.reason);
      return verdict;
    };
  }

  #tell({ path }: FileOperation, reason: string): void {
    this.#count += 1;
    if (this.#count <= maxTold) this.#told.push(`[${inertJson(shortened(path, maxPath))} stays as it is: ${reason}]`);
  }

  /** The result of the call, with that behind it and `told` at the end. */
  behind(content: string, told: string | null | undefined): string {
    const more = this.#count - this.#told.length;
    const lines = [content, ...this.#told, ...(more === 0 ? [] : [`[so do ${more} more]`])];
    return [...lines, ...(typeof told === 'string' ? [told] : [])].join('\n');
  }
}
