/** Shows a task while it runs, and says at its end what it was refused. */

import { fstatSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { RunningCapsule, Steering } from '@svc/capsule/launch/running-capsule.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, joined, say, Shown } from '@svc/terminal/screen/shown.ts';
import type { RunView } from '../../shown/run-view.ts';
import type { RefusedThing } from '../script/run-result.ts';
import type { ScriptCompanion } from '../script/script-run.ts';
import { changedRows, changedWarnings } from './changed-things.ts';
import type { RefusedThings } from './refused-things.ts';

/** A task without a manifest, as far as its end describes it. */
export interface AdhocTask {
  readonly refused: RefusedThings;
  /** Its manifest, and the workspace that keeps it. */
  readonly text: string;
  readonly root: string;
  /** What its model takes at once; null where nobody knows. */
  readonly contextTokens: number | null;
}

export interface CompanionRequest {
  readonly context: CommandContext;
  /** Whether somebody looks: not where a script asks for the answer alone. */
  readonly isWatched: boolean;
  /** Said once the session is there, to who looks. */
  readonly firstRows: (capsule: RunningCapsule) => Shown;
  /** It is null for a capsule of a manifest. */
  readonly adhoc: AdhocTask | null;
  /** Whether one task follows another until somebody stops it: the companion then reports after each what that was refused. */
  readonly isChat?: boolean;
}

/** The file of a session's folder with the manifest that its task came to. */
export const keptManifest = 'svc.yaml';

/** What shows is loaded where somebody looks. */
export async function openCompanion(request: CompanionRequest): Promise<ScriptCompanion> {
  const { context, isWatched } = request;
  const view = isWatched && context.stderr.isTerminal ? await import('../../shown/run-view.ts') : null;
  return new TaskCompanion(
    request,
    view && new view.RunView(context, true, isPiped(context), request.adhoc?.contextTokens ?? null),
  );
}

/** Whether a program gets standard output, such as `tee`, and may write it to the terminal. */
function isPiped({ stdout }: CommandContext): boolean {
  if (stdout.isTerminal) return false;
  const place = fstatSync(1);
  return place.isFIFO() || place.isSocket();
}

/** Goes along with one task. */
class TaskCompanion implements ScriptCompanion {
  readonly #request: CompanionRequest;
  readonly #view: RunView | null;
  #session: string | null = null;
  #directory: string | null = null;
  #changesOf: RunningCapsule['changes'] = () => null;

  constructor(request: CompanionRequest, view: RunView | null) {
    this.#request = request;
    this.#view = view;
  }

  get manifestText(): string | null {
    return this.#request.adhoc?.text ?? null;
  }

  get hasShown(): boolean {
    return this.#view !== null && this.#request.context.stdout.isTerminal && this.#session !== null;
  }

  get isAnswering(): boolean {
    return this.#view?.isAnswering === true;
  }

  onListening(capsule: RunningCapsule, steering: Steering): void {
    const { adhoc, firstRows } = this.#request;
    this.#session = capsule.sessionId;
    this.#changesOf = capsule.changes;
    if (adhoc !== null) {
      this.#directory = join(adhoc.root, '.svc', 'sessions', capsule.sessionId);
      keep(join(this.#directory, keptManifest), adhoc.text);
    }
    this.#view?.say(firstRows(capsule));
    this.#view?.open(capsule, steering);
  }

  readonly onActivity = (activity: Activity): void => {
    this.#request.adhoc?.refused.note(activity);
    this.#view?.note(activity);
    if (activity.kind === 'task-settled' && this.#request.isChat === true) this.#tellRefused();
  };

  #tellRefused(): void {
    const { adhoc } = this.#request;
    if (adhoc === null) return;
    if (this.#directory !== null) adhoc.refused.readEgress(this.#directory);
    const lines = adhoc.refused.takeLines();
    if (lines.text !== '') this.say(lines);
  }

  async close(): Promise<void> {
    await this.#view?.close();
  }

  say(rows: Shown): void {
    if (this.#view === null) this.#request.context.stderr.write(rows);
    else this.#view.say(rows);
  }

  refused(): readonly RefusedThing[] {
    const { adhoc } = this.#request;
    if (adhoc === null) return [];
    if (this.#directory !== null) adhoc.refused.readEgress(this.#directory);
    return adhoc.refused.all;
  }

  lastRows(): Shown {
    const session =
      this.#view === null || this.#session === null ? exactLine`` : exactLine`session: ${this.#session}\n`;
    return joined([session, this.#changes(), this.#request.adhoc?.refused.lines() ?? say``]);
  }

  /** Nothing where no session began. */
  #changes(): Shown {
    const changes = this.#changesOf();
    if (changes === null) return say``;
    return joined([changedRows(changes), render(changedWarnings(changes), this.#request.context)]);
  }
}

function keep(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw ioFault(error, `cannot write ${path}`);
  }
}
