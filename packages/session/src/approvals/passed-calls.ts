/** Shows the calls of children to a person, in the turn of their tasks or before it. */

import type { AskedApproval } from '@svc/protocol/approval.ts';
import { passedOptions } from '@svc/protocol/passed-question.ts';
import type { Question, QuestionName } from '@svc/protocol/question.ts';
import type { ApprovalEnd, PassedCall, QuestionEnd, Task } from '../task/task.ts';
import { shownSummary } from './asked-effect.ts';
import { idOf, promptOf } from './question-words.ts';
import type { AskApproval, MadeQuestion, WaitingApprovals, WaitingApprovalsDeps } from './waiting-approvals.ts';

interface PassedCallsDeps extends WaitingApprovalsDeps {
  /** In milliseconds, that a question waits where no child says it. */
  readonly timeoutMs: number;
  /** The name of the capsule that passes them on. */
  readonly capsule: string;
}

/** The longest that a manifest lets a question wait. */
export const maxPassedMs = 86_400_000;

/** A question that can be answered before the turn of its task. */
export interface OfferedCall {
  readonly question: Question;
  /** Resolves to the answer of a person, or to null at the end of the task. Rejects with the Diagnostic of an end that cannot be written. */
  readonly over: Promise<ApprovalEnd | null>;
}

interface PassedTask {
  readonly task: Task;
  readonly place: string;
  readonly ask: AskApproval;
  /** Called with a question that was answered before the turn of the task. */
  readonly told: (prompt: string) => void;
}

/** The calls of the children of one session. What is written is that each was passed on: only the child writes that it runs. */
export class PassedCalls {
  readonly #deps: PassedCallsDeps;
  readonly #held: WaitingApprovals;

  constructor(deps: PassedCallsDeps, held: WaitingApprovals) {
    this.#deps = deps;
    this.#held = held;
  }

  /**
   * Takes the answer of a person while the task of the question waits for its turn. Throws the Diagnostic of what cannot be written.
   */
  offer(task: Task, passed: PassedCall): OfferedCall {
    const name = { taskId: task.id, waitId: 'q1' };
    const asked = (passed.asked = this.#write(name, passed));
    const prompt = promptOfPassed(asked);
    const over = new Promise<ApprovalEnd | null>((resolve, reject) => {
      const decided = (end: ApprovalEnd, principal: string): void => {
        passed.end = end;
        task.answeredBy = principal;
        resolve(end);
      };
      this.#held.offer({ task, question: name, asked, open: { ...asked, taskId: task.id, prompt }, decided });
      const ended = (): void => {
        // Unless its turn has come, and it was asked as any other.
        this.#held.withdraw(asked.id);
        resolve(null);
      };
      task.whenEnded.then(ended).catch(reject);
    });
    return { question: { ...name, prompt, approval: asked }, over };
  }

  /** Asks in the turn of the task, unless somebody has answered before it. `passed` is null in a replay, which knows all of it. Rejects as `ask` does. */
  async pass({ task, place, ask, told }: PassedTask, passed: PassedCall | null): Promise<QuestionEnd> {
    const { clock, recorder, timeoutMs: ownTimeoutMs } = this.#deps;
    const early = recorder.find(`${place}/answered`, () => {
      const end = passed?.end ?? null;
      const prompt = passed?.asked === undefined ? '' : promptOfPassed(passed.asked);
      return end === null ? null : { end, prompt, by: task.answeredBy };
    });
    if (early !== null) {
      task.answeredBy = early.by;
      told(early.prompt);
      return early.end;
    }
    const leftMs = passed === null ? ownTimeoutMs : passed.question.expiresAtMs - clock.now();
    const timeoutMs = Math.min(Math.max(1, leftMs), maxPassedMs);
    const make = (name: QuestionName): MadeQuestion => {
      const asked = this.#asked(name, passed, place);
      return { asked, prompt: promptOfPassed(asked), shown: () => {} };
    };
    const { end } = await this.#held.wait({ task, ask, timeoutMs }, make);
    return end;
  }

  #asked(name: QuestionName, passed: PassedCall | null, place: string): AskedApproval {
    const found = this.#deps.recorder.find(`${place}/passed`, () => {
      if (passed === null) return null;
      const { id: _, ...asked } = passed.asked ?? this.#write(name, passed);
      return asked;
    });
    const { capsule } = this.#deps;
    const nothing = { digest: '', rule: '', effect: {}, expiresAtMs: 0, capsule: [capsule], options: [] };
    return { id: idOf(name), ...(found ?? nothing) };
  }

  #write(name: QuestionName, { question, path, sessionId: session_id }: PassedCall): AskedApproval {
    const { clock, log, capsule: own } = this.#deps;
    const { digest, rule, effect, expiresAtMs, id: of } = question;
    const capsule = [own, ...path];
    const id = idOf(name);
    log.write({ k: 'passed', at: clock.now(), id, digest, capsule, session_id, of, expires_at: expiresAtMs });
    const options = passedOptions.filter((option) => question.options.includes(option));
    return { id, digest, rule, effect, expiresAtMs, capsule, options };
  }
}

function promptOfPassed(asked: AskedApproval): string {
  const prompt = promptOf(asked, { effect: asked.effect, summary: shownSummary(asked.effect) });
  return `${asked.capsule.slice(1).join(' > ')}: ${prompt}`;
}
