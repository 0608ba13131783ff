/** Says in a page's words where two sessions differ. */

import type { DivergenceFacts } from '@svc/record/journal/divergence-facts.ts';

/** Where it is, and what it is. */
export function saidOf(parting: DivergenceFacts): readonly [where: string, what: string] {
  return [`They part ${whereOf(parting)}`, whatOf(parting)];
}

function whereOf({ steps, task, turn }: DivergenceFacts): string {
  const step = steps.a ?? steps.b;
  if (step !== null) return `at step ${step}${turn === null ? '' : `, turn ${turn}`}`;
  return task === null ? 'somewhere' : `at task ${task}`;
}

function whatOf({ kind, part, message, name, difference, steps }: DivergenceFacts): string {
  const place = difference === null || difference.path === '' ? '' : ` at ${difference.path}`;
  switch (kind) {
    case 'task':
      return 'The task was given another text.';
    case 'end':
      return 'The task came to another end.';
    case 'missing':
      return `Only ${steps.a === null ? 'the other session' : 'this session'} has this step: ${name ?? ''}.`;
    case 'answer':
      return `The model was asked the same and answered something else${place}.`;
    case 'request':
      return message === null
        ? `The model was asked with another ${part ?? 'fixed part'}${place}.`
        : `Message ${message.number} of the request, of ${message.role ?? 'nobody'}, is not the same${place}.`;
    case 'input':
      return `${name ?? ''} was called with another ${part ?? 'input'}${place}.`;
  }
}
