/** The command `svc run`: starts a capsule and prints how it ended. */

import { captureLevels, type CaptureLevel } from '@svc/artifacts/manifest/capture-levels.ts';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';

import { runCapsule } from '../capsule/run-capsule.ts';
import type { Retained } from '../capsule/journal-retention.ts';
import type { RunChanges, RunningCapsule, RunObserver, RunOutcome } from '../capsule/running-capsule.ts';
import type { ScopeRequest } from '../capsule/scope-of-launch.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ActivityListener } from '../session/activity.ts';
import type { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { FetchObserver, ArtifactSource } from '@svc/artifacts/store/installed-artifact.ts';
import { parseArtifactRef } from '@svc/artifacts/store/artifact-ref.ts';
import { containmentClasses, type ContainmentClass } from '@svc/protocol/containment-class.ts';
import { isSessionId, type SessionId } from '@svc/protocol/ids.ts';
import { encodeRunLine } from '@svc/protocol/run-line.ts';
import type { CommandContext } from './command-context.ts';
import type { RunView } from './session-view/run-view.ts';
import type { ResultPlace } from './script/result-place.ts';
import type * as ScriptModule from './script/script-run.ts';
import { render } from './render-failure.ts';
import { stopOnSignals, usualEndMs } from './stop-signals.ts';
import { exactLine, joined, jsonText, say, Shown } from './terminal/shown.ts';

interface RunOptions extends ScriptModule.ScriptOptions {
  readonly workdir?: string;
  readonly capsuleVersion?: string;
  readonly bind: string;
  readonly envFile: boolean;
  readonly offline?: boolean;
  readonly containment?: ContainmentClass;
  readonly capture?: CaptureLevel;
  readonly captureCeiling?: CaptureLevel;
  readonly components?: boolean;
  readonly spawnedBy?: number;
  readonly sessionId?: SessionId;
  readonly stopWithin?: number;
  readonly forChat?: boolean;
}

/** Given to the command of a script. */
type UsageError = (problem: string) => never;

/** `svc run`: the only way to start a capsule (D1 "Command line"). */
export function runCommand(context: CommandContext): Command {
  return new Command('run')
    .description('Start the capsule of the manifest: it runs its task behind an HTTP door.')
    .option('--task <path or text>', 'a file with the task, or the task itself; - reads it from standard input')
    .option('-p, --print [task]', 'print the answer and nothing else; - reads the task from standard input')
    .addOption(new Option('--output <format>', 'what is printed').choices(['text', 'json', 'stream-json']))
    .option('--timeout <time>', 'end the task after this time, such as 5m')
    .option('--max-tokens <n>', 'the most tokens that the session may use', aWholeNumber)
    .addOption(new Option('--max-cost <amount>').hideHelp())
    .option('--manifest <path>', 'the manifest', './svc.yaml')
    .option('--workdir <dir>', 'the directory the agent reads and writes, instead of a fresh one')
    .option('--capsule <name>', 'run a published capsule from the store instead of a manifest file')
    .option('--capsule-version <version>', 'the exact version of that capsule')
    .option('--bind <address>', 'address the listener binds; 0.0.0.0 accepts other machines', anAddress, '127.0.0.1')
    .option('--no-env-file', 'do not read the .env file of the workspace')
    .option('--offline', 'never fetch an artifact')
    .addOption(new Option('--containment <class>', 'raise the containment floor').choices(containmentClasses))
    .option('--replay [session]', 'run a recorded session again, reaching nothing: the newest, or the one named')
    .option('--components', 'with --replay: run its components again too, over what their imports were answered')
    .addOption(new Option('--capture <level>', 'what is recorded beside the trace').choices(captureLevels))
    .option('--explain-scope', 'print what the capsule would be granted and what contains it, and start nothing')
    .option('-v, --verbose', 'print the workdir, the manifest, the driver and the skills too')
    .option('--json', 'write one JSON line once the listener is up, and nothing else; of --explain-scope the report')
    .addOption(approvalOption())
    .addOption(spawnedByOption())
    .addOption(new Option('--session-id <id>', 'the id of the session').argParser(aSessionId).hideHelp())
    .addOption(new Option('--capture-ceiling <level>', 'the most that is recorded').choices(captureLevels).hideHelp())
    .addOption(new Option('--for-chat', 'stay up for a conversation').hideHelp())
    .addOption(new Option('--stop-within <ms>', 'the time a stop may take').argParser(aWholeNumber).hideHelp())
    .action(async (options: RunOptions, command: Command) => {
      if ((options.capsule === undefined) !== (options.capsuleVersion === undefined)) {
        command.error('error: --capsule and --capsule-version go together');
      }
      if (options.task === '-' && options.spawnApprovalStdin === true) {
        command.error('error: standard input holds the approval, and cannot hold the task too');
      }
      if (options.components === true && options.replay === undefined) {
        command.error('error: --components goes with --replay');
      }
      const usage: UsageError = (problem) => command.error(`error: ${problem}`);
      const { print, output, timeout, maxTokens, maxCost } = options;
      const isScript = [print, output, timeout, maxTokens, maxCost].some((given) => given !== undefined);
      if (isScript) process.exitCode = await run(options, context, usage);
      else if (options.replay !== undefined) {
        const { replay } = await import('./replay.ts');
        process.exitCode = await replay(options.replay, options, context);
      } else if (options.explainScope === true) await explain(options, context);
      else process.exitCode = await run(options, context);
    });
}

/** This and the next are how a parent capsule starts a child, with `--session-id`, `--capture-ceiling` and `--stop-within`: nobody types them. */
function approvalOption(): Option {
  return new Option('--spawn-approval-stdin', 'read the approval of the referee from standard input').hideHelp();
}

function spawnedByOption(): Option {
  return new Option('--spawned-by <pid>', 'end with this process').argParser(aWholeNumber).hideHelp();
}

/** An empty one, of an unset variable, would mean every address. */
function anAddress(value: string): string {
  if (value.trim() === '') throw new InvalidArgumentError('it is empty');
  return value;
}

function aWholeNumber(value: string): number {
  if (!/^[1-9]\d{0,9}$/.test(value)) throw new InvalidArgumentError('it must be a whole number above 0');
  return Number(value);
}

function aSessionId(value: string): SessionId {
  if (!isSessionId(value)) throw new InvalidArgumentError('it must be a session id');
  return value;
}

function scopeRequest(options: RunOptions, { cwd, home, env }: CommandContext): ScopeRequest {
  return {
    manifestFile: options.manifest,
    published:
      options.capsule === undefined || options.capsuleVersion === undefined
        ? null
        : parseArtifactRef(`${options.capsule}@${options.capsuleVersion}`),
    readEnvFile: options.envFile,
    floor: options.containment,
    workdir: options.workdir === undefined ? null : resolve(cwd, options.workdir),
    cwd,
    home,
    env,
  };
}

/** `--explain-scope`: the report, also of a launch that would be refused (D1 "Command line"). */
async function explain(options: RunOptions, context: CommandContext): Promise<void> {
  const { explainScope, renderReportOnly, renderScopeReport } = await import('./scope-report.ts');
  const { scope, json, refusals, warnings, redact } = await explainScope(scopeRequest(options, context));
  if (warnings.length > 0) context.stderr.write(render(warnings, context));
  const isJson = options.json === true;
  context.stdout.write(isJson ? jsonText(json) : Shown.cleaned(redact(renderScopeReport(scope))));
  if (refusals.length === 0) return;
  const reportOnly = Shown.cleaned(redact(renderReportOnly(refusals)));
  if (isJson) context.stderr.write(reportOnly);
  else context.stdout.write(say`\n${reportOnly}`);
}

/** `usage` is null unless a script asks. */
async function run(options: RunOptions, context: CommandContext, usage: UsageError | null = null): Promise<number> {
  const stopWithinMs = options.stopWithin ?? usualEndMs;
  let view: RunView | null = null;
  const tell = (rows: Shown): void => {
    if (view === null) context.stderr.write(rows);
    else view.say(rows);
  };
  const stop = stopOnSignals(context, stopWithinMs, tell);
  const choice = { flag: undefined, signal: stop.signal };
  let endWatch = (): void => {};
  const result = options.json !== true && context.stdout.isTerminal ? await resultPlace() : null;
  let script: OpenScript | null = null;
  try {
    if (usage !== null) script = await openScript(options, { context, stop, usage });
    if (options.spawnedBy !== undefined) {
      const { watchParent } = await import('../capsule/spawned-launch.ts');
      endWatch = watchParent(options.spawnedBy, () => stop.request());
    }
    const approval = options.spawnApprovalStdin === true ? await approvalOfParent() : null;
    if (script === null && isLive(options, context)) view = await runView(options, context);
    const outcome = await runCapsule(
      {
        ...scopeRequest(options, context),
        ...(context.build === undefined ? {} : { build: context.build }),
        task: options.task,
        readTask: async () => {
          const { readTaskInput } = await import('./task-input.ts');
          return await readTaskInput(process.stdin, { context, stop: stop.signal });
        },
        approval,
        sessionId: options.sessionId ?? null,
        stopWithinMs,
        capture: options.capture,
        parentCapture: options.captureCeiling,
        bind: options.bind,
        sources: options.offline === true ? () => [] : lateSources(context, choice),
        fetchObserver: script === null && isLive(options, context) ? await downloadView(context) : null,
        stop: stop.signal,
        changes: script?.changes ?? (options.forChat === true ? await chatChanges() : null),
        onActivity: listener(script, view),
      },
      script ?? observer(options, context, { result, view, tell }),
    );
    await view?.close();
    if (script !== null) return await script.ended(outcome);
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
    endWatch();
    stop.dispose();
  }
}

function listener(script: OpenScript | null, view: RunView | null): ActivityListener | null {
  if (script !== null) return (activity) => script.note(activity);
  return view === null ? null : (activity) => view.note(activity);
}

type OpenScript = ReturnType<typeof ScriptModule.openScript>;

async function openScript(...of: Parameters<typeof ScriptModule.openScript>): Promise<OpenScript> {
  return (await import('./script/script-run.ts')).openScript(...of);
}

async function chatChanges(): Promise<RunChanges> {
  return (await import('./chat/chat-changes.ts')).chatChanges;
}

async function resultPlace(): Promise<ResultPlace> {
  const { ResultPlace } = await import('./script/result-place.ts');
  return new ResultPlace();
}

async function approvalOfParent(): Promise<Secret> {
  const { readSpawnApproval } = await import('../capsule/spawned-launch.ts');
  return await readSpawnApproval(process.stdin);
}

interface Shows {
  readonly result: ResultPlace | null;
  readonly view: RunView | null;
  /** Says rows of `svc` on standard error. */
  readonly tell: (rows: Shown) => void;
}

function observer(options: RunOptions, context: CommandContext, { result, view, tell }: Shows): RunObserver {
  return {
    onWarning: (warning) => tell(render([warning], context)),
    onListening: (capsule, steering) => {
      context.stdout.write(options.json === true ? runLine(capsule) : lines(capsule, options));
      result?.open(capsule);
      view?.open(capsule, steering);
      // A child of a capsule gets its task from that; nobody reads along.
      if (!capsule.hasTask) view?.say(waitingRow(capsule));
      context.onStarted?.();
    },
    onFrame: (frame) => result?.note(frame),
    onTaskFailed: (reason) => tell(render([taskFailed(reason)], context)),
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
  const { DownloadView } = await import('./transfer-view.ts');
  return new DownloadView(context, true);
}

async function runView(options: RunOptions, context: CommandContext): Promise<RunView> {
  const { RunView } = await import('./session-view/run-view.ts');
  const isInputTaken = options.task === '-' || options.spawnApprovalStdin === true;
  return new RunView(context, !isInputTaken);
}

/** In one line, in the words of the trace (ADR 0083). */
function taskFailed(reason: string): Diagnostic {
  return new Diagnostic('E-RUN-059', `the task failed: ${reason}`);
}

function isLive(options: RunOptions, context: CommandContext): boolean {
  return context.stderr.isTerminal && options.json !== true;
}

/** Written in one piece: a caller reads exactly one line (D1 "Run result line"). */
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

/** The sources of the registry in use; what asks them is read, and the registry found out, when they are first needed. */
function lateSources(
  context: CommandContext,
  choice: { readonly flag: string | undefined; readonly signal: AbortSignal },
): () => Promise<readonly ArtifactSource[]> {
  const open = async (): Promise<readonly ArtifactSource[]> => {
    const { lazySources, registryChoice } = await import('./project.ts');
    return lazySources(registryChoice(context, choice))();
  };
  let sources: Promise<readonly ArtifactSource[]> | null = null;
  return async () => await (sources ??= open());
}
