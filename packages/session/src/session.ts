/** Runs the tasks of a session one after another. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Clock } from '@svc/kit/clock.ts';
import type { ContextId, SessionId } from '@svc/protocol/ids.ts';
import type { Approvals } from './approvals/approvals.ts';
import type { Usage } from './model/driver-notes.ts';
import type { SessionActivity } from './task/activity.ts';
import type { EventStream } from './stream/event-stream.ts';
import type { TaskBoard } from './loop/task-board.ts';
import type { TaskRunnerDeps } from './loop/task-runner.ts';
import type { Task } from './task/task.ts';
import type { GivenSkills } from './tools/skills/given-skills.ts';

/** What `status:` says (D1 "Process outcome", docs/protocol.md "The end of a session"). */
export type SessionStatus = 'ok' | 'failed' | 'trapped';

export interface SessionOutcome {
  readonly status: SessionStatus;
  /** What the session could not survive. With `trapped` it is null when the session went on after a trap of its driver or a hook. */
  readonly trap: Diagnostic | null;
  /** True when a stop met no live task: that is a clean end whatever earlier tasks came to. */
  readonly stoppedIdle: boolean;
}

interface SessionDeps {
  readonly id: SessionId;
  readonly events: EventStream;
  readonly board: TaskBoard;
  readonly runner: TaskRunnerDeps;
  /** What tasks leave running; ended with the session. */
  readonly background: { stop(): Promise<void> };
}

/** One session: runs the accepted tasks one after another until none can come any more. */
export class Session {
  readonly id: SessionId;
  readonly events: EventStream;
  readonly board: TaskBoard;
  readonly #runner: TaskRunnerDeps;
  readonly #background: SessionDeps['background'];
  #trap: Diagnostic | null = null;
  #stoppedIdle = false;
  #componentTrapped = false;

  constructor(deps: SessionDeps) {
    this.id = deps.id;
    this.events = deps.events;
    this.board = deps.board;
    this.#runner = deps.runner;
    this.#background = deps.background;
  }

  get clock(): Clock {
    return this.#runner.clock;
  }

  /** What everything that shows the session follows. */
  get activity(): SessionActivity {
    return this.#runner.activity;
  }

  /** Names the model that its tasks ask. */
  get model(): string {
    return this.#runner.inference.model;
  }

  /** What a command that a person typed needs: a shell for it, and a conversation where that is to get what it gave. */
  async takesCommand(isTold: boolean): Promise<'yes' | 'no-shell' | 'no-conversation'> {
    const { shellOf } = await import('./loop/typed-command.ts');
    if (shellOf(this.#runner.inventory) === null) return 'no-shell';
    return isTold && this.#runner.conversations === null ? 'no-conversation' : 'yes';
  }

  /** The skills that a person can have a task begin with. */
  get skills(): Pick<GivenSkills, 'names' | 'problem'> {
    return this.#runner.inventory.skills;
  }

  /** Is null where the manifest has none. */
  get approvals(): Approvals | null {
    return this.#runner.approvals;
  }

  /** Tokens so far. */
  get used(): Usage {
    return this.#runner.spend.used;
  }

  /** Whether a task that goes on this conversation would know what was said in it. */
  keeps(conversation: ContextId): boolean {
    return this.#runner.conversations?.has(conversation) ?? false;
  }

  /** Resolves when the session is over; the event stream is still open then. A rejection is a bug. */
  async run(): Promise<SessionOutcome> {
    for (let task = await this.board.next(); task !== null; task = await this.board.next()) {
      await this.#run(task);
    }
    await this.#runner.recorder.settle('session/background', async () => {
      await this.#background.stop();
      return null;
    });
    const trap = this.#trap;
    if (trap !== null) return { status: 'trapped', trap, stoppedIdle: false };
    if (this.#componentTrapped || this.#runner.hooks.trapped) return { status: 'trapped', trap, stoppedIdle: false };
    return { status: this.board.endedWell ? 'ok' : 'failed', trap, stoppedIdle: this.#stoppedIdle };
  }

  /** Ends the session because it cannot go on: its trace or its workdir failed. What runs is canceled. */
  trap(reason: Diagnostic): void {
    this.#runner.recorder.arrive({ what: 'trap', reason });
    this.#end(reason);
  }

  /** Accepts nothing more and cancels what is live; `run` resolves once it has ended. */
  async shutDown(): Promise<void> {
    // `svc stop` calls session/stop before it signals: the task that this canceled was met by the same stop.
    this.#runner.recorder.arrive({ what: 'shut-down' });
    this.#stoppedIdle = this.board.isIdle && !this.board.stopMetTasks;
    await this.board.shutDown();
  }

  async #run(task: Task): Promise<void> {
    try {
      if (task.command === 'passed')
        return await (await import('./loop/passed-call.ts')).askForChild(task, this.#runner);
      const { runTask } = await import('./loop/task-runner.ts');
      const { trapped } = await runTask(task, this.#runner);
      this.#componentTrapped ||= trapped;
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      this.#end(error);
    } finally {
      this.board.finish(task);
    }
  }

  #end(reason: Diagnostic): void {
    this.#trap ??= reason;
    this.board.abandon();
  }
}
