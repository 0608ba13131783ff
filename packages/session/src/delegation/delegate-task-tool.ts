/** The tool `delegate-task`, by which a model gives a task to another capsule. */

import * as z from 'zod/mini';

import { type Tool, type ToolDeclaration, type ToolOutcome, neverReached } from '../tools/tool.ts';
import type { Delegations } from './delegations.ts';
import type { DelegationRequest, StartOutcome } from './delegations-deps.ts';

/** A message of JSON-RPC has to hold it. */
const maxTask = 200_000;

const request = z.object({ capsule: z.string(), version: z.string(), task: z.string() });

/** Declares `delegate-task` to the model of a capsule that may start these. */
export function delegateTaskDeclaration(spawnAllow: readonly [string, ...string[]]): ToolDeclaration {
  return { name: 'delegate-task', description, kind: 'runtime', inputSchema: schemaOf(spawnAllow) };
}

/**
 * `delegate-task` (D2): starts one of the capsules of `capabilities.spawn.allow` as a child. For a capsule that names at least one.
 * A refusal is the referee's sentence as it is; everything else is one JSON object.
 */
export function createDelegateTaskTool(
  spawnAllow: readonly [string, ...string[]],
  delegations: Pick<Delegations, 'start'>,
): Tool {
  return {
    ...delegateTaskDeclaration(spawnAllow),
    call: async (args, context) => {
      const asked = request.parse(args);
      return outcomeOf(asked, await delegations.start(asked, context));
    },
  };
}

function outcomeOf({ capsule, version }: DelegationRequest, outcome: StartOutcome): ToolOutcome {
  switch (outcome.kind) {
    case 'refused':
      return neverReached(outcome.sentence);
    case 'failed': {
      const { delegationId, sessionId, reason } = outcome;
      // Always a string (D2): empty where the child never got as far as a session.
      const head = { delegation_id: delegationId, session_id: sessionId ?? '', capsule, version };
      return result('failed', { ...head, status: 'failed', output: reason });
    }
    case 'started': {
      const { delegationId, sessionId, childWorkdir } = outcome;
      const head = { delegation_id: delegationId, session_id: sessionId, capsule, version };
      return result('passed', { ...head, status: 'started', child_workdir: childWorkdir });
    }
  }
}

function result(status: ToolOutcome['status'], object: Readonly<Record<string, string>>): ToolOutcome {
  return { status, content: JSON.stringify(object), exitCode: null, truncated: false };
}

function schemaOf(spawnAllow: readonly string[]): Tool['inputSchema'] {
  return {
    type: 'object',
    properties: {
      capsule: { type: 'string', enum: [...spawnAllow], description: 'The capsule that is to do the work.' },
      version: {
        type: 'string',
        minLength: 1,
        maxLength: 100,
        description: 'Its exact version, such as 1.2.0; there is no latest.',
      },
      task: {
        type: 'string',
        minLength: 1,
        maxLength: maxTask,
        description:
          'Everything the capsule is told. It knows nothing of this conversation and sees none of your files: say all it needs.',
      },
    },
    required: ['capsule', 'version', 'task'],
    additionalProperties: false,
  };
}

const description = [
  'Gives a task to another capsule, which works on it by itself in a directory of its own. The call returns as soon as that capsule has',
  'its task; it does not wait for the outcome. With status "started", go on or finish your answer: the outcome arrives later as a task',
  'that names the delegation_id, the status and the result_path, a file below child_workdir. With status "failed" there is no',
  'delegation, and output says why. A plain sentence means that the delegation is not allowed, or not now.',
].join(' ');
