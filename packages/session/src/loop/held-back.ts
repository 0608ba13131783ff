/** Puts what a call was not allowed to change or to send behind its result, with the reasons, which its component or program does not hear. */

import { inertJson, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { HeldRequest } from '@svc/kit/keys/bound-host.ts';
import type { CallVerdict, CheckedCall, FileOperation, ProgramQuestions, RequestQuestions } from '../tools/tool.ts';

const maxTold = 5;
const maxPath = 200;

type ApproveChange = (call: CheckedCall, change: FileOperation) => Promise<CallVerdict>;
type RequestsOf = (call: CheckedCall) => RequestQuestions | null;
type ProgramsOf = (call: CheckedCall) => ProgramQuestions | null;

/** What judges in the middle of a call. */
export interface MiddleJudges {
  /** Judges a file that the component of a call is about to change; null if every change is made. */
  readonly approveChange: ApproveChange | null;
  /** Gives what asks about the requests of a call; null where nobody is asked. */
  readonly requestsOf: RequestsOf | null;
  /** The same for the programs that a call starts. */
  readonly programsOf: ProgramsOf | null;
}

/** What one call was refused in its middle. */
export class HeldBack {
  /** Judges a change; undefined where nobody does. */
  readonly approve: ApproveChange | undefined;
  /** The same for requests. */
  readonly requestsOf: RequestsOf | undefined;
  /** The same for programs. */
  readonly programsOf: ProgramsOf | undefined;
  readonly #told: string[] = [];
  #count = 0;

  /** `held` runs what may fail for a reason of the runtime's own. */
  constructor(
    { approveChange: judge, requestsOf, programsOf }: MiddleJudges,
    held: (ask: () => Promise<CallVerdict>) => Promise<CallVerdict>,
  ) {
    const told = async (ask: () => Promise<CallVerdict>, of: () => readonly [string, string]): Promise<CallVerdict> => {
      const verdict = await held(ask);
      if (verdict.kind === 'deny') this.#tell(of(), verdict.reason);
      return verdict;
    };
    if (judge !== null)
      this.approve = async (call, change) =>
        await told(
          () => judge(call, change),
          () => [change.path, 'stays as it is'],
        );
    this.programsOf = (call) => {
      const programs = programsOf?.(call) ?? null;
      if (programs === null) return null;
      const asked: ProgramQuestions['ask'] = async (program) =>
        await told(
          () => programs.ask(program),
          () => [program.argv.join(' '), 'was killed before it began'],
        );
      return { ...programs, ask: asked };
    };
    if (requestsOf === null) return;
    this.requestsOf = (call) => {
      const requests = requestsOf(call);
      if (requests === null) return null;
      return {
        ...requests,
        ask: async (request) =>
          await told(
            () => requests.ask(request),
            () => [lineOf(request), 'was not sent'],
          ),
      };
    };
  }

  #tell([name, what]: readonly [string, string], reason: string): void {
    this.#count += 1;
    if (this.#count <= maxTold) this.#told.push(`[${inertJson(shortened(name, maxPath))} ${what}: ${reason}]`);
  }

  /** The result of the call, with that behind it and `told` at the end. */
  behind(content: string, told: string | null | undefined): string {
    const more = this.#count - this.#told.length;
    const lines = [content, ...this.#told, ...(more === 0 ? [] : [`[so it is with ${more} more]`])];
    return [...lines, ...(typeof told === 'string' ? [told] : [])].join('\n');
  }
}

function lineOf({ method, origin, target }: HeldRequest): string {
  return `${method} ${origin}${target}`;
}
