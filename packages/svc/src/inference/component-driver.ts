import { type Component, ComponentFault } from '@svc/components/component.ts';
import type { Driver, DriverOutcome, InferenceCall, InferenceRequest } from './driver.ts';
import { forgotten, KeptMessages, type NextRequest } from './kept-messages.ts';
import type { DriverRequests } from './driver-requests.ts';
import { redactedOutcome } from './redacted-outcome.ts';
import { decodeWitResponse, type DriverSurroundings, encodeWitRequest } from './wit-driver.ts';

const inferExport = 'svc:driver/inference@0.1.0#infer';

export interface ComponentDriverSettings extends DriverSurroundings {
  /** The artifact's name. */
  readonly label: string;
  readonly component: Component;
  /** What is seen of the requests of the component. */
  readonly requests: DriverRequests;
  /** `capabilities.limits.deadline` of the artifact. */
  readonly deadlineMs: number;
  /** Takes the key out of a failure: a provider may repeat it in what it answers. */
  readonly redact: (text: string) => string;
}

/** The driver behind `inference.transport: http`: a component of the world `svc:driver/driver` (contracts §4). */
export function createComponentDriver(settings: ComponentDriverSettings): Driver {
  const { label, component } = settings;
  return {
    label,
    openTask: () => {
      const kept = new KeptMessages();
      return {
        infer: async (request, call) => {
          const outcome = await inferOnward(kept.next(request), call, settings);
          return redactedOutcome(outcome, settings.redact);
        },
        close: () => Promise.resolve(),
      };
    },
    close: () => component.close(),
  };
}

/** A driver that keeps a conversation is told what is new of it; one that has lost it meanwhile is told the whole. */
async function inferOnward(
  { whole, onward }: NextRequest,
  call: InferenceCall,
  settings: ComponentDriverSettings,
): Promise<DriverOutcome> {
  if (onward === null) return await infer(whole, call, settings);
  const outcome = await infer(onward, call, settings);
  return outcome.kind === 'failed' && outcome.error === forgotten ? await infer(whole, call, settings) : outcome;
}

async function infer(
  request: InferenceRequest,
  call: InferenceCall,
  settings: ComponentDriverSettings,
): Promise<DriverOutcome> {
  const { component, deadlineMs, requests } = settings;
  const endListening = requests.listen(call);
  try {
    const answer = await component.call({
      export: inferExport,
      args: [encodeWitRequest(request, settings)],
      host: {
        'svc:text/chunks@0.1.0#emit-chunk': call.onText,
        'svc:text/chunks@0.1.0#emit-thinking-chunk': call.onThinking,
      },
      deadlineMs,
      signal: call.signal,
    });
    return outcomeOf(answer);
  } catch (error) {
    if (error instanceof ComponentFault) return faultOutcome(error, deadlineMs);
    throw error;
  } finally {
    endListening();
  }
}

function outcomeOf(answer: unknown): DriverOutcome {
  if (isError(answer)) {
    const { val } = answer;
    return {
      kind: 'failed',
      error: typeof val === 'string' && val !== '' ? val : 'the driver failed without a reason',
    };
  }
  const response = decodeWitResponse(answer);
  if (response === null) return { kind: 'failed', error: 'the driver answered something that is no response' };
  return { kind: 'response', response };
}

function isError(answer: unknown): answer is { readonly tag: 'err'; readonly val?: unknown } {
  return typeof answer === 'object' && answer !== null && 'tag' in answer && answer.tag === 'err';
}

function faultOutcome(fault: ComponentFault, deadlineMs: number): DriverOutcome {
  if (fault.kind === 'unavailable') return { kind: 'unavailable', error: fault.message };
  const happenings = {
    trap: `broke off: ${fault.message}`,
    deadline: `did not answer within ${deadlineMs / 1000} s: capabilities.limits.deadline`,
    memory: 'used up its memory',
    canceled: 'was canceled',
  };
  const error = `the driver ${happenings[fault.kind]}`;
  return fault.kind === 'trap' || fault.kind === 'memory'
    ? { kind: 'failed', error, trapped: true }
    : { kind: 'failed', error };
}
