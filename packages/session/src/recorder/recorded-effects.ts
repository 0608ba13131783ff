/** Leads what a session asks of its outside through its recorder: the model, tools, hooks, other capsules. */

import type { HeldRequest } from '@svc/kit/keys/bound-host.ts';
import type { StartedProgram } from '@svc/sandbox/launcher.ts';
import type { CallHook, CompletionAsker, CompletionRequest } from '../hooks/hook.ts';
import { usageOf } from '../model/spend-meter.ts';
import {
  type Driver,
  type DriverOutcome,
  type InferenceCall,
  type InferenceRequest,
  judgeSize,
  type ToolAnswer,
  type ToolCallBlock,
} from '../model/driver.ts';
import type { RunCapsuleStep } from '../tools/plan/capsule-step.ts';
import type {
  CallVerdict,
  FileOperation,
  InputAnswer,
  ProgramQuestions,
  RequestQuestions,
  Tool,
  ToolCallContext,
  ToolKind,
} from '../tools/tool.ts';
import type { Recorder, Inside, Port } from './recorder.ts';

/** A driver whose calls go through the recorder. */
export function recordedDriver(driver: Driver, recorder: Recorder): Driver {
  return {
    label: driver.label,
    openTask: () => {
      const task = driver.openTask();
      let place = 'model';
      return {
        infer: (request, call) => {
          ({ place } = call);
          const effect = { place, port: 'model', name: request.model, input: request, signal: call.signal } as const;
          return recorder.effect(effect, insideOf(call), async (inside) =>
            counted(request, await task.infer(request, calledFrom(call, inside))),
          );
        },
        close: async () => {
          await recorder.settle(`${place}/close`, async () => {
            await task.close();
            return null;
          });
        },
      };
    },
    close: () => driver.close(),
  };
}

/**
 * What crosses of an outcome. When an answer is larger than any model means, journal, trace and hooks get its fault and its cost instead.
 * An estimate of the tokens is part of the answer: the recorded text has other lengths where secrets were taken out.
 */
function counted(request: InferenceRequest, outcome: DriverOutcome): DriverOutcome {
  if (outcome.kind !== 'response') return outcome;
  const { response } = outcome;
  const oversize = judgeSize(response);
  if (oversize === null && response.usage !== undefined) return outcome;
  const kept = oversize === null ? response : { content: [], stopReason: 'error', error: oversize.error };
  return { kind: 'response', response: { ...kept, usage: usageOf(request, response) } };
}

function insideOf({ onRetry, onText, onThinking, callTool }: InferenceCall): Inside {
  return {
    chunk: (kind, text) => (kind === 'text' ? onText(text) : kind === 'thinking' ? onThinking(text) : onRetry?.(text)),
    ask: (_what, block) => callTool(block as ToolCallBlock),
    note: () => false,
  };
}

function calledFrom(call: InferenceCall, inside: Inside): InferenceCall {
  return {
    ...call,
    ...importsOf(inside),
    onText: (text) => inside.chunk('text', text),
    onThinking: (text) => inside.chunk('thinking', text),
    onRetry: (reason) => inside.chunk('retry', reason),
    callTool: async (block) => (await inside.ask('call', block)) as ToolAnswer,
  };
}

const ports: Readonly<Record<ToolKind, Port>> = {
  wasm: 'tool',
  native: 'tool',
  skill: 'tool',
  runtime: 'tool',
  mcp: 'mcp',
  shell: 'shell',
};

/** A tool whose calls go through the recorder, unless all it does goes through by itself. */
export function recordedTool(tool: Tool, recorder: Recorder): Tool {
  if (tool.isOwn === true) return tool;
  const port = tool.name === 'delegate-task' ? 'child' : ports[tool.kind];
  return {
    ...tool,
    call: (args, context) => {
      const { place, signal, emitText, emitThinking, requestInput, hosts, record } = context;
      const { requests, programs, judgeChange } = context;
      const inside: Inside = {
        chunk: (kind, text) => (kind === 'thinking' ? emitThinking(text) : emitText(text)),
        ask: async (what, asked) => {
          if (what === 'host' && hosts !== undefined) return await hosts.ask(asked as string);
          if (what === 'request') return await (requests?.ask ?? notJudged)(asked as HeldRequest);
          if (what === 'program') return await (programs?.ask ?? notJudged)(asked as StartedProgram);
          if (what !== 'change') return await requestInput(asked as string);
          return await (judgeChange ?? notJudged)(asked as FileOperation);
        },
        note: record,
      };
      return recorder.effect({ place, port, name: tool.name, input: args, signal }, inside, (outside) =>
        tool.call(args, contextFrom(context, outside)),
      );
    },
  };
}

function contextFrom(context: ToolCallContext, inside: Inside): ToolCallContext {
  const { chunk, ask, note } = inside;
  return {
    ...context,
    ...importsOf(inside),
    emitText: (text) => chunk('text', text),
    emitThinking: (text) => chunk('thinking', text),
    requestInput: async (prompt) => (await ask('input', prompt)) as InputAnswer,
    ...(context.judgeChange === undefined
      ? {}
      : { judgeChange: async (change) => (await ask('change', change)) as CallVerdict }),
    requests: context.requests && requestsThrough(context.requests, ask),
    programs: context.programs && programsThrough(context.programs, ask),
    hosts: context.hosts && { ...context.hosts, ask: async (host) => (await ask('host', host)) === true },
    record: note,
  };
}

function requestsThrough(requests: RequestQuestions, ask: Inside['ask']): RequestQuestions {
  return { ...requests, ask: async (request) => (await ask('request', request)) as CallVerdict };
}

function programsThrough(programs: ProgramQuestions, ask: Inside['ask']): ProgramQuestions {
  return { ...programs, ask: async (program) => (await ask('program', program)) as CallVerdict };
}

/** Capsule steps of plans through the recorder. */
export function recordedCapsuleSteps(run: RunCapsuleStep, recorder: Recorder): RunCapsuleStep {
  return (step, context) => {
    const { place, signal, record: note } = context;
    const inside: Inside = { chunk: () => {}, ask: neverAsks, note };
    return recorder.effect({ place, port: 'child', name: step.capsule, input: step, signal }, inside, (outside) =>
      run(step, { ...context, record: outside.note }),
    );
  };
}

/** Calls of hooks through the recorder. */
export function recordedHookCalls(callHook: CallHook, recorder: Recorder): CallHook {
  return (hook, call, surroundings) => {
    const { event, argument, taskId } = call;
    const { name } = hook;
    let asking: CompletionAsker = { hookName: name, taskId, signal: neverAborted };
    const inside: Inside = {
      chunk: () => {},
      ask: (_what, request) => surroundings.complete(request as CompletionRequest, asking),
      note: () => false,
    };
    const effect = { place: `${taskId ?? 'session'}/h-${event}/${name}`, port: 'hook', name } as const;
    return recorder.effect({ ...effect, input: { event, argument }, signal: neverAborted }, inside, (outside) =>
      callHook(hook, call, {
        ...surroundings,
        ...importsOf(outside),
        complete: async (request, asker) => {
          asking = asker;
          return (await outside.ask('complete', request)) as string;
        },
      }),
    );
  };
}

function importsOf({ imports }: Inside): Pick<Inside, 'imports'> {
  return imports === undefined ? {} : { imports };
}

const neverAborted = new AbortController().signal;

async function notJudged(): Promise<never> {
  throw new Error('nothing is judged in a session without approvals');
}

async function neverAsks(): Promise<never> {
  throw new Error('a capsule step asks nothing');
}
