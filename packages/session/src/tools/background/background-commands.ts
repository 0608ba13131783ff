/** Holds the commands that go on after their calls have ended. */

import { type Clock, elapsedMs } from '@svc/kit/clock.ts';
import { endOnAbort, endProcess } from '@svc/sandbox/launched-process.ts';
import type { LaunchedProcess } from '@svc/sandbox/launcher.ts';
import { mintWorkId, type WorkId } from '@svc/protocol/ids.ts';
import type { ToolOutcome } from '../tool.ts';

/** Commands of one session that run in the background at a time. Another one is ended when its grace is over. */
export const maxCommands = 16;
const endGraceMs = 2000;

export interface BackgroundSettings {
  readonly clock: Clock;
  /** How long a call waits for its command: `lifecycle.shell_grace_secs`. */
  readonly graceMs: number;
  /** Whether the session takes another task, which is how it reports the end of a command. */
  readonly endIsTold: boolean;
}

/** A command that has been started for a call. */
interface StartedCommand {
  readonly taskId: string;
  /** The name of its tool. */
  readonly name: string;
  /** The command in words for people. */
  readonly command: string;
  readonly process: LaunchedProcess;
  /** Whether its call waits for its end, however long that takes. */
  readonly isAwaited?: boolean;
  /** What it has a person asked, which its grace does not count; null where that is nothing. Never rejects. */
  readonly question?: () => Promise<unknown> | null;
  /** Settles once the process and its outputs have ended. */
  readonly finished: Promise<ToolOutcome>;
}

/** A command that goes on without its call. */
export interface BackgroundCommand extends Pick<StartedCommand, 'taskId' | 'name' | 'command'> {
  readonly id: WorkId;
}

interface BackgroundEnd {
  readonly outcome: ToolOutcome;
  /** Since its start. */
  readonly durationMs: number;
  /** True when the end of the session ended it. */
  readonly stopped: boolean;
}

export interface BackgroundObserver {
  moved(command: BackgroundCommand): void;
  /** Called once for each command that was moved. */
  ended(command: BackgroundCommand, end: BackgroundEnd): void;
}

/** How the wait of a call for its command came out. */
type Watched =
  | { readonly kind: 'ended' }
  | { readonly kind: 'moved'; readonly id: WorkId }
  /** It has been ended, because as many go on already as may. */
  | { readonly kind: 'no-room' };

interface Running {
  readonly command: BackgroundCommand;
  readonly process: LaunchedProcess;
  /** Settles after the observer was notified. */
  readonly over: Promise<void>;
}

/** The commands of a session that outlast their calls (docs/adr/sessions.md "A command that outlasts its grace"). */
export class BackgroundCommands {
  readonly settings: BackgroundSettings;
  readonly #running = new Map<WorkId, Running>();
  #observer: BackgroundObserver | null = null;
  #stopped = false;

  constructor(settings: BackgroundSettings) {
    this.settings = settings;
  }

  /** Reports to it from now on. */
  observe(observer: BackgroundObserver): void {
    this.#observer = observer;
  }

  /** What runs in the background now, in the order of its beginning there. */
  get running(): readonly BackgroundCommand[] {
    return [...this.#running.values()].map(({ command }) => command);
  }

  /**
   * Waits for a command, for as long as the grace lasts; an aborted `signal` ends it. One that is moved goes on, and `signal` reaches
   * it no more; everything else has ended.
   */
  async watch(started: StartedCommand, signal: AbortSignal): Promise<Watched> {
    const startedMs = this.settings.clock.monotonicMs();
    const stopListening = endOnAbort(started.process, signal, endGraceMs);
    const watched = await this.#firstOf(started, () => {
      if (signal.aborted || this.#stopped) return { kind: 'ended' };
      if (this.#running.size >= maxCommands) {
        void endProcess(started.process, endGraceMs);
        return { kind: 'no-room' };
      }
      stopListening();
      return { kind: 'moved', id: this.#move(started, startedMs) };
    });
    if (watched.kind !== 'moved') await started.finished;
    stopListening();
    return watched;
  }

  /** Ends every process there is; settles once their outputs are kept and the observer knows. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const ends = [...this.#running.values()].map(async ({ process, over }) => {
      await endProcess(process, endGraceMs);
      await over;
    });
    await Promise.all(ends);
  }

  #firstOf({ finished, isAwaited, question }: StartedCommand, onGrace: () => Watched): Promise<Watched> {
    const { clock, graceMs } = this.settings;
    return new Promise((resolve, reject) => {
      let isOver = false;
      let cancelTimer = (): void => {};
      const wait = (): void => {
        if (isOver || isAwaited === true) return;
        cancelTimer = clock.after(graceMs, () => {
          const open = question?.() ?? null;
          if (open === null) resolve(onGrace());
          else void open.then(wait);
        });
      };
      const end = (): void => {
        isOver = true;
        cancelTimer();
      };
      wait();
      finished.then(
        () => {
          end();
          resolve({ kind: 'ended' });
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  }

  #move(started: StartedCommand, startedMs: number): WorkId {
    const { taskId, name, process } = started;
    const id = mintWorkId(this.settings.clock);
    const command = { id, taskId, name, command: started.command };
    const over = started.finished.then((outcome) => {
      this.#running.delete(id);
      const durationMs = elapsedMs(this.settings.clock, startedMs);
      this.#observer?.ended(command, { outcome, durationMs, stopped: this.#stopped });
    });
    this.#running.set(id, { command, process, over });
    this.#observer?.moved(command);
    return id;
  }
}
