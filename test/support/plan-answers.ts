/** Scripts models that submit plans, and reads what they are answered. */

import { expect } from 'vitest';

import type { StreamFrame } from './frame-stream.ts';
import { calls, says, script } from './scripted-turns.ts';
import type { StreamedCapsule } from './streamed-capsule.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A script that submits plans in one turn and then ends the task. */
export function submits(...plans: readonly unknown[]): string {
  const made = plans.map((plan, index) => [`plan_${index + 1}`, 'submit-plan', plan] as const);
  return script(calls(made), says('Done.'));
}

/** The `artifact` of each frame that has one. */
export function artifacts(frames: readonly StreamFrame[]): readonly Fields[] {
  return frames.flatMap(({ event, data }) => (event === 'artifact' ? [data['artifact'] as Fields] : []));
}

/** What the model read of a plan that ran. */
export function answerOf(artifact: Fields | undefined): unknown {
  const content = String(artifact?.['content']);
  const [, text = ''] =
    /^<untrusted-content source=tool:submit-plan>\n([^]*)\n<\/untrusted-content>$/.exec(content) ?? [];
  return JSON.parse(text);
}

/** The lines of the trace about plans, without what no two runs share, and all of them the first task's. */
export function planLines({ trace }: StreamedCapsule): readonly Fields[] {
  const start = trace.find((line) => line['event_type'] === 'task_start');
  const lines = trace.filter((line) => String(line['event_type']).startsWith('plan_'));
  for (const line of lines) {
    expect(line).toMatchObject({ parent_id: start?.['event_id'], task_id: start?.['task_id'] });
  }
  return lines.map(comparable);
}

function comparable(line: Fields): Fields {
  const { event_id: _id, session_id: _session, timestamp: _at, parent_id: _parent, task_id: _task, ...own } = line;
  const times = ['start_ms', 'duration_ms'].filter((key) => key in own).map((key) => [key, typeof own[key]]);
  return { ...own, ...Object.fromEntries(times) };
}
