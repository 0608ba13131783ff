import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { stringify } from 'yaml';

import { svc } from '../../support/svc-process.ts';
import { makeWorkspace } from '../../support/workspace.ts';

/** Runs a capsule whose model plays a script in place of the manifest's own, and submits the plan; how it and its steps ended. */
export async function loadedPlan(
  manifest: Record<string, unknown>,
  plan: unknown,
): Promise<{ readonly outcome: string; readonly steps: Readonly<Record<string, string>> }> {
  const inference = { model: 'script', driver: { artifact: 'svc-driver-script', config: { script: 'script.yaml' } } };
  const workspace = makeWorkspace({
    'svc.yaml': stringify({ ...manifest, inference }),
    'script.yaml': stringify([
      { content: [{ type: 'tool_call', id: 'c1', name: 'submit-plan', input: plan }], stop_reason: 'tool_call' },
      { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' },
    ]),
  });
  try {
    // The strongest class that this host has: in it a command that no grant names is not there.
    const { code, stderr } = await svc(workspace, ['run', '--task', 'x'], {
      env: { SVC_CONTAINMENT_CEILING: 'sealed' },
    });
    if (code !== 0) throw new Error(stderr);
    const sessions = join(workspace.folder, '.svc', 'sessions');
    const plans = join(sessions, readdirSync(sessions)[0] ?? '', 'plans');
    const record = JSON.parse(readFileSync(join(plans, readdirSync(plans)[0] ?? ''), 'utf8')) as {
      readonly outcome: string;
      readonly steps: readonly { readonly id: string; readonly status: string }[];
    };
    return { outcome: record.outcome, steps: Object.fromEntries(record.steps.map(({ id, status }) => [id, status])) };
  } finally {
    workspace.remove();
  }
}
