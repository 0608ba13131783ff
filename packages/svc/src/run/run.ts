/** What `svc run` does: it starts a capsule and prints how it ended. */

import { resolve } from 'node:path';

import type { FetchObserver } from '@svc/artifacts/store/installed-artifact.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { parseArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { runCapsule } from '@svc/capsule/run/run-capsule.ts';
import type { RunChanges, RunningCapsule, RunObserver, RunOutcome } from '@svc/capsule/launch/running-capsule.ts';
import type { ScopeRequest } from '@svc/capsule/launch/scope-of-launch.ts';
import type * as SpawnedLaunchModule from '@svc/capsule/launch/spawned-launch.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { encodeRunLine } from '@svc/protocol/run-line.ts';
import type { Retained } from '@svc/record/sessions/journal-retention.ts';
import type { ActivityListener } from '@svc/session/task/activity.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { exactLine, joined, jsonText, say, Shown } from '@svc/terminal/screen/shown.ts';
import type { RunView } from '../shown/run-view.ts';
import { stopOnSignals, usualEndMs } from '../command/stop-signals.ts';
import { taskFailed } from '../command/task-failed.ts';
import type { ResultPlace } from './script/result-place.ts';
import type { RunOptions } from './run-options.ts';
import type * as ScriptModule from './script/script-run.ts';

/** What `svc "task"` adds to a run. */
interface TaskRun {
  readonly companion: ScriptModule.ScriptCompanion | null;
  /** Its capsule, where no manifest describes it; or the manifest that was found, once the user trusts it. */
  readonly request: () => Promise<Partial<ScopeRequest>>;
}

/** Given to the command of a script. */
export type UsageError = (problem: string) => never;

/** The options that decide the scope of the session. */
export function scopeRequest(options: RunOptions, { cwd, home, env }: CommandContext): ScopeRequest {
  return {
    manifestFile: options.manifest,
    published: publishedOf(options),
    readEnvFile: options.envFile,
    floor: options.containment,
    workdir: options.workdir === undefined ? null : resolve(cwd, options.workdir),
    ...projectOf(options, cwd),
    writesGit: options.writeGit === true,
    cwd,
    home,
    env,
    telemetryEnv: env,
  };
}

function publishedOf({ capsule, capsuleVersion, capsuleSha256: sha256 }: RunOptions): ScopeRequest['published'] {
  if (capsule === undefined || capsuleVersion === undefined) return null;
  return { ...parseArtifactRef(`${capsule}@${capsuleVersion}`), ...(sha256 === undefined ? {} : { sha256 }) };
}

function projectOf({ project, projectOfParent }: RunOptions, cwd: string): Pick<ScopeRequest, 'project'> {
  if (projectOfParent !== undefined) return { project: projectOfParent };
  return project === undefined ? {} : { project: { path: resolve(cwd, project) } };
}

/** Runs the capsule to its end; resolves with the exit code of `svc`. `usage` is null unless a script asks, `own` unless `svc "task"` does. */
export async function run(
  options: RunOptions,
  context: CommandContext,
  usage: UsageError | null = null,
  own: TaskRun | null = null,
): Promise<number> {
  const stopWithinMs = options.stopWithin ?? usualEndMs;
  let view: RunView | null = null;
  let script: OpenScript | null = null;
  const tell = (rows: Shown): void => {
    if (script !== null) script.say(rows);
    else if (view !== null) view.say(rows);
    else context.stderr.write(rows);
  };
  const stop = stopOnSignals(context, stopWithinMs, tell);
  const lost: unknown[] = [];
  const written = (refusal: Error | null): void => {
    // A reader that went away is no failure of ours.
    if (refusal === null || isErrno(refusal, 'EPIPE')) return;
    const fault = ioFault(refusal, 'standard output, which says where the capsule listens, could not be written');
    if (options.json !== true && fault instanceof Diagnostic) return tell(render([fault], context));
    // The reader of the line would know nothing of the capsule, and never stop it.
    lost.push(fault);
    stop.request();
  };
  const choice = { flag: undefined, signal: stop.signal };
  let parent: ReturnType<typeof SpawnedLaunchModule.watchParent> | null = null;
  const result = options.json !== true && context.stdout.isTerminal ? await resultPlace() : null;
  try {
    if (usage !== null) script = await openScript(options, { context, stop, usage, companion: own?.companion ?? null });
    if (options.spawnedBy !== undefined) {
      const { watchParent } = await import('@svc/capsule/launch/spawned-launch.ts');
      parent = watchParent(options.spawnedBy, () => stop.request());
    }
    const spawned = options.spawnApprovalStdin === true ? await toldByParent() : null;
    if (script === null && isLive(options, context)) view = await runView(options, context);
    const hintOf = script === null ? await failureHints(options, context, own) : null;
    const outcome = await runCapsule(
      {
        ...scopeRequest(options, context),
        ...(await own?.request()),
        ...(context.build === undefined ? {} : { build: context.build }),
        task: options.task,
        readTask: async () => {
          const { inputOf, readTaskInput } = await import('../command/task-input.ts');
          return await readTaskInput(inputOf(process.stdin), { context, stop: stop.signal });
        },
        approval: spawned?.approval ?? null,
        isParentThere: parent?.isThere,
        ...(spawned === null || spawned.telemetryEnv === null ? {} : { telemetryEnv: spawned.telemetryEnv }),
        ...(spawned === null || spawned.askKey === null ? {} : { askKey: spawned.askKey }),
        sessionId: options.sessionId ?? null,
        stopWithinMs,
        capture: options.capture,
        parentCapture: options.captureCeiling,
        bind: options.bind,
        sources: options.offline === true ? () => [] : lateSources(context, choice),
        fetchObserver: script === null && isLive(options, context) ? await downloadView(context) : null,
        stop: stop.signal,
        askedAt: () => (view?.isAnswering === true || own?.companion?.isAnswering === true ? 'terminal' : null),
        changes: await changesOf(options, context, script),
        onActivity: listener(script, view, own?.companion ?? null),
      },
      script ?? observer(options, context, { result, view, tell, written, companion: own?.companion ?? null, hintOf }),
    );
    await view?.close(outcome);
    if (script !== null) return await script.ended(outcome);
    if (lost.length > 0) throw lost[0];
    if (outcome.trap !== null) context.stderr.write(render([outcome.trap], context));
    if (options.json !== true) {
      if (result !== null) context.stdout.write(result.line(context.cwd));
      context.stdout.write(exactLine`status:  ${outcome.status}\n`);
    }
    return exitCodeOf(outcome);
  } catch (error) {
    if (script === null) throw error;
    return await script.failed(error);
  } finally {
    await view?.close();
    parent?.end();
    stop.dispose();
  }
}

function listener(
  script: OpenScript | null,
  view: RunView | null,
  companion: ScriptModule.ScriptCompanion | null,
): ActivityListener | null {
  if (script !== null) return (activity) => script.note(activity);
  if (view === null && companion !== null) return (activity) => companion.onActivity(activity);
  return view === null ? null : (activity) => view.note(activity);
}

type OpenScript = ReturnType<typeof ScriptModule.openScript>;

async function openScript(...of: Parameters<typeof ScriptModule.openScript>): Promise<OpenScript> {
  return (await import('./script/script-run.ts')).openScript(...of);
}

async function changesOf(
  { forChat, continues, manifest }: RunOptions,
  context: CommandContext,
  script: OpenScript | null,
): Promise<RunChanges | null> {
  if (script === null && forChat !== true) return null;
  const changes = script?.changes ?? (await import('./chat-changes.ts')).chatChanges;
  if (continues === undefined) return changes;
  const { goesOn } = await import('./continued-session.ts');
  return await goesOn(changes, continues, { places: context, manifest });
}

async function resultPlace(): Promise<ResultPlace> {
  const { ResultPlace } = await import('./script/result-place.ts');
  return new ResultPlace();
}

async function toldByParent(): ReturnType<typeof SpawnedLaunchModule.readSpawnApproval> {
  const { readSpawnApproval } = await import('@svc/capsule/launch/spawned-launch.ts');
  return await readSpawnApproval(process.stdin);
}

interface Shows {
  readonly result: ResultPlace | null;
  readonly view: RunView | null;
  /** Writes rows of `svc` to standard error. */
  readonly tell: (rows: Shown) => void;
  /** Called with the outcome of the first write to standard output. */
  readonly written: (refusal: Error | null) => void;
  readonly companion: ScriptModule.ScriptCompanion | null;
  /** Suggests what to do about the failure of a task; null where no person reads along. */
  readonly hintOf: ((reason: string) => string | null) | null;
}

/** In a pipe, svc prints the reason only (docs/adr/terminal-and-viewer.md "What standard error says of a run"). */
async function failureHints(
  options: RunOptions,
  context: CommandContext,
  own: TaskRun | null,
): Promise<Shows['hintOf']> {
  if (!isLive(options, context) && options.forChat !== true) return null;
  const { hintsFor } = await import('./script/provider-hint.ts');
  return hintsFor(options, context.cwd, own?.companion?.manifestText ?? null);
}

function observer(
  options: RunOptions,
  context: CommandContext,
  { result, view, tell, written, companion, hintOf }: Shows,
): RunObserver {
  return {
    onWarning: (warning) => tell(render([warning], context)),
    onListening: (capsule, steering) => {
      companion?.onListening(capsule, steering);
      context.stdout.write(options.json === true ? runLine(capsule) : lines(capsule, options), written);
      result?.open(capsule);
      view?.open(capsule, steering);
      // A child of a capsule gets its task from its parent, and no person reads along.
      if (!capsule.hasTask) view?.say(waitingRow(capsule));
      context.onStarted?.();
    },
    onFrame: (frame) => result?.note(frame),
    // In one line, in the words of the trace (docs/adr/terminal-and-viewer.md "What standard error says of a run").
    onTaskFailed: ({ words, hint }) => {
      const shown = hintOf === null ? null : (hint ?? hintOf(words));
      tell(render([taskFailed(words, { hint: shown })], context));
    },
    onRetained: (retained) => {
      if (options.verbose === true) tell(retainedRow(retained));
    },
  };
}

function waitingRow({ reachableAt, sessionId }: RunningCapsule): Shown {
  const session = sessionId.slice(-4);
  return say`waiting for a message at ${reachableAt}; svc chat ${session} talks to it, svc stop ${session} ends it\n`;
}

async function downloadView(context: CommandContext): Promise<FetchObserver> {
  const { DownloadView } = await import('../shown/transfer-view.ts');
  return new DownloadView(context, true);
}

async function runView(options: RunOptions, context: CommandContext): Promise<RunView> {
  const { RunView } = await import('../shown/run-view.ts');
  return new RunView(context, options.spawnApprovalStdin !== true);
}

function isLive(options: RunOptions, context: CommandContext): boolean {
  return context.stderr.isTerminal && options.json !== true;
}

/** Written in one piece, because a caller reads exactly one line (D1 "Run result line"). */
function runLine(capsule: RunningCapsule): Shown {
  return jsonText(encodeRunLine(capsule));
}

function retainedRow({ removed, bytes, left }: Retained): Shown {
  const journals = removed === 1 ? '1 journal' : `${removed} journals`;
  const rest = left === 0 ? '' : `; of ${left} more a part could not be removed`;
  return say`trace.keep: removed ${journals} of earlier sessions, ${bytes} bytes${rest}\n`;
}

/** D1 "Human-readable run output". */
function lines(capsule: RunningCapsule, { verbose = false }: RunOptions): Shown {
  const shown = [exactLine`svc: url ${capsule.reachableAt}\n`, exactLine`session: ${capsule.sessionId}\n`];
  if (verbose) {
    shown.push(exactLine`workdir: ${capsule.workdir}\n`, exactLine`manifest: ${capsule.name} v${capsule.version}\n`);
    shown.push(exactLine`driver: ${capsule.driver} (${capsule.model === '' ? 'no model' : capsule.model})\n`);
    if (capsule.skills > 0) shown.push(exactLine`skills: ${capsule.skills} installed\n`);
  }
  return joined(shown);
}

/** docs/protocol.md "The end of a session": `ok` 0, `failed` 1, `trapped` 2; a stop that met no live task is 0 whatever came before. */
function exitCodeOf({ status, stoppedIdle }: RunOutcome): number {
  if (status === 'trapped') return 2;
  return status === 'ok' || stoppedIdle ? 0 : 1;
}

/** The sources of the registry in use. Their code loads, and the registry is looked up, at the first need. */
export function lateSources(
  context: CommandContext,
  choice: { readonly flag: string | undefined; readonly signal: AbortSignal },
): StorePlaces['sources'] {
  const open = async (): Promise<StorePlaces['sources']> => {
    const { lazySources, registryChoice } = await import('../command/project.ts');
    return lazySources(registryChoice(context, choice));
  };
  let sources: ReturnType<typeof open> | null = null;
  return async (...asked) => await (await (sources ??= open()))(...asked);
}
