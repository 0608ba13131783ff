import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import type { SavedPlan } from './plan-report.ts';

export interface PlanFileSettings {
  /** Where the trace lies, owner-only. */
  readonly sessionDirectory: string;
  /** Takes secrets out, as for a line of the trace. */
  readonly redact: (text: string) => string;
}

export interface PlanFile {
  /** Tells the plans of a session apart. */
  readonly number: number;
  readonly planId: string;
  readonly text: string;
}

/** Keeps a plan as `plans/<number>-<plan id>.json`, the owner's alone, whole or not at all. A disk that refuses it is part of the answer. */
export async function savePlan(file: PlanFile, { sessionDirectory, redact }: PlanFileSettings): Promise<SavedPlan> {
  const name = `plans/${file.number}-${file.planId}.json`;
  try {
    await makeDirectory(join(sessionDirectory, 'plans'), 0o700);
    await replaceFile(join(sessionDirectory, name), [Buffer.from(redact(file.text))], { mode: 0o600 });
    return { kind: 'saved', name };
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    return { kind: 'not-saved', problem: error.message };
  }
}
