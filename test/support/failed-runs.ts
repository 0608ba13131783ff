/** Runs of svc whose task fails, and the reason that they report. */

import { expect } from 'vitest';

import { onlySession, taskFile, tracePath } from './capsule-folders.ts';
import { readTrace } from './read-trace.ts';
import { svc, type SvcEnd } from './svc-process.ts';
import type { Workspace } from './workspace.ts';

/** The files of a capsule whose model is asked at an endpoint, once. */
export function asking(endpoint: string): Readonly<Record<string, string>> {
  return {
    ...taskFile,
    'svc.yaml': `name: demo
version: 1.2.3
inference:
  endpoint: ${endpoint}
  model: small-model
  driver: { artifact: svc-driver-openai, config: { max_retries: 0 } }
`,
  };
}

/** What the trace says of the one task's failure. */
function tracedReason(workspace: Workspace): unknown {
  const end = readTrace(tracePath(workspace, onlySession(workspace))).find(
    (event) => event['event_type'] === 'task_end',
  );
  return end?.['error'] ?? end?.['message'];
}

/** The reason on standard error, which has to be its only line and to have the words of the trace. */
export function reasonOf({ code, stderr }: SvcEnd, workspace: Workspace): string {
  expect(code).toBe(1);
  const [, reason = ''] = /^error\[E-RUN-059\]: the task failed: (.*)\n$/.exec(stderr) ?? [];
  expect(reason, stderr).toBe(String(tracedReason(workspace)).replaceAll(/\s*\n\s*/g, ' '));
  return reason;
}

/** The different reasons of so many runs, each of a capsule of its own. */
export async function reasonsOf(runs: number, capsule: () => Workspace): Promise<readonly string[]> {
  const reasons = new Set<string>();
  for (let run = 0; run < runs; run += 1) {
    const workspace = capsule();
    reasons.add(reasonOf(await svc(workspace, ['run']), workspace));
  }
  return [...reasons];
}
