/** Makes a tool of a WebAssembly component. */

import { ComponentFault, type Component, type HostFunctions } from '@svc/components/component.ts';
import { changeFunction, refusedFileFunction } from '@svc/components/exchange.ts';
import { offeredInterface } from '@svc/components/interface-versions.ts';
import { isFlag, isObjectOf, isOneOf, isText, orNull } from '@svc/kit/guards.ts';
import { withDigits } from '@svc/kit/exact-json.ts';
import { type Tool, type ToolCallContext, type ToolDeclaration, type ToolOutcome, neverReached } from './tool.ts';

/** A question is shown whole wherever it may be answered: in a frame, in the task, on a terminal. */
const maxPromptBytes = 64 * 1024;

const runExport = `${offeredInterface('svc:tool/run')}#run`;
const chunks = offeredInterface('svc:text/chunks');
const task = offeredInterface('svc:task/task');

interface WasmToolSettings extends Omit<ToolDeclaration, 'kind'> {
  readonly component: Component;
  /** Whether a person is asked about its requests. */
  readonly asksRequests?: boolean;
  /** `capabilities.limits.deadline` of the artifact. */
  readonly deadlineMs: number;
}

/** The record `output` of `svc:tool/run`. */
const isOutput = isObjectOf({ status: isOneOf('passed', 'failed'), content: isText, truncated: isFlag });

/**
 * A tool that is a component of the world `svc:tool/tool`. A fault of the component is a failed outcome;
 * a call whose input wait timed out has failed whatever the component makes of it (D1 "Task states", `input-timeout`).
 */
export function createWasmTool(settings: WasmToolSettings): Tool {
  const { name, description, inputSchema } = settings;
  return {
    name,
    description,
    kind: 'wasm',
    inputSchema,
    call: (args, context) => callComponent(args, context, settings),
    warm: () => settings.component.warm(),
  };
}

async function callComponent(
  args: Readonly<Record<string, unknown>>,
  context: ToolCallContext,
  { component, deadlineMs, name, asksRequests = false }: WasmToolSettings,
): Promise<ToolOutcome> {
  const waits: InputWaits = { timedOut: false };
  const { asking } = asksRequests
    ? (await import('./asking-launch.ts')).askingLaunch(context, { asksRequests })
    : silent;
  try {
    const answer = await component.call({
      export: runExport,
      args: [{ arguments: withDigits(args, context.digits), callId: context.callId ?? undefined }],
      host: hostFunctions(context, waits),
      deadlineMs,
      signal: context.signal,
      ...asking,
      ...(context.imports === undefined ? {} : { imports: context.imports }),
    });
    if (!isOutput(answer)) return failed(`the tool ${name} answered something that is not a tool output`);
    const { status, content, truncated } = answer;
    return { status: waits.timedOut ? 'failed' : status, content, exitCode: null, truncated };
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof ComponentFault) return outcomeOf(error, name, deadlineMs);
    throw error;
  }
}

const silent = { asking: {} };

interface InputWaits {
  timedOut: boolean;
}

/** What the process of the component asks about. */
const isOperation = isObjectOf({
  operation: isOneOf('write', 'remove', 'rename', 'link', 'directory'),
  path: isText,
  to: orNull(isText),
  isTree: isFlag,
  isLinked: isFlag,
});

function hostFunctions(context: ToolCallContext, waits: InputWaits): HostFunctions {
  const { judgeChange } = context;
  return {
    // Without it every change is refused.
    ...(judgeChange === undefined
      ? {}
      : {
          [changeFunction]: async (change: unknown): Promise<void> => {
            const verdict = isOperation(change) ? await judgeChange(change) : null;
            if (verdict?.kind !== 'proceed')
              throw new Error(verdict?.reason ?? 'no change of a file is asked for like that');
          },
        }),
    [`${chunks}#emit-chunk`]: context.emitText,
    [`${chunks}#emit-thinking-chunk`]: context.emitThinking,
    [refusedFileFunction]: (path: unknown, code: unknown) => {
      if (typeof path === 'string' && typeof code === 'string') context.onFileRefused?.(path, code);
    },
    [`${task}#request-input`]: async (prompt: string): Promise<string> => {
      if (Buffer.byteLength(prompt) > maxPromptBytes) {
        throw new Error(`the prompt is longer than ${maxPromptBytes} bytes`);
      }
      const answer = await context.requestInput(prompt);
      if (answer.kind === 'answered') return answer.text;
      waits.timedOut = true;
      throw new Error('input-timeout');
    },
  };
}

function outcomeOf(fault: ComponentFault, name: string, deadlineMs: number): ToolOutcome {
  if (fault.kind === 'unavailable') return neverReached(`the tool ${name} cannot be used: ${fault.message}`);
  const happenings = {
    trap: `broke off: ${fault.message}`,
    deadline: `did not answer within ${deadlineMs / 1000} s`,
    memory: 'used up its memory',
    // Not by a cancel of the call: the component was closed under it.
    canceled: `was stopped: ${fault.message}`,
  };
  return failed(`the tool ${name} ${happenings[fault.kind]}`);
}

function failed(content: string): ToolOutcome {
  return { status: 'failed', content, exitCode: null, truncated: false };
}
