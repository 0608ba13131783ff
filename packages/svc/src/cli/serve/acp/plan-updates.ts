/** Shows an editor the plan that a model has submitted, and how far it is. */

import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { RequestedCall } from '../../../tools/tool.ts';
import { planLimits, submittedPlan } from '../../../tools/plan/plan.ts';
import type { TraceEvent } from '../../../trace/events.ts';
import type { AcpUpdate, PlanEntry } from './updates.ts';

const longestStep = 300;

type EndedStep = Extract<TraceEvent, { readonly event_type: 'plan_step' }>;

/** One plan, an entry a step. The protocol knows no step that failed: that is written behind it. */
export class ShownPlan {
  readonly #entries: Map<string, PlanEntry>;

  private constructor(entries: Map<string, PlanEntry>) {
    this.#entries = entries;
  }

  /** Null for a call that submits no plan, or none that can be read. */
  static of({ name, input }: RequestedCall): ShownPlan | null {
    if (name !== 'submit-plan') return null;
    const { data } = submittedPlan.safeParse(input);
    if (data === undefined || data.steps.length > planLimits.steps) return null;
    const entries = data.steps.map(({ id, tool, shell, capsule }): [string, PlanEntry] => {
      const content = shortened(`${id}: ${tool ?? shell ?? capsule ?? ''}`, longestStep).toWellFormed();
      return [id, { content, priority: 'medium', status: 'pending' }];
    });
    return new ShownPlan(new Map(entries));
  }

  ended({ step_id: id, outcome }: EndedStep): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const content = outcome === 'passed' ? entry.content : `${entry.content} (${outcome})`;
    this.#entries.set(id, { ...entry, content, status: 'completed' });
  }

  update(): AcpUpdate {
    return { sessionUpdate: 'plan', entries: [...this.#entries.values()] };
  }
}
