/** The command `svc chat`: talks to a capsule on a terminal. */

import { randomUUID } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { shownMinute } from '@svc/kit/shown-values.ts';
import type { Snapshot } from '@svc/protocol/live-events.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { type LocatedCapsule, sendTokenHelp } from '@svc/record/running/approach-capsule.ts';
import { locateRunning, whenEnded } from '@svc/record/running/locate-running.ts';
import { suffixOf } from '@svc/record/sessions/session-names.ts';
import { type GivenMessage, messagesOfRunning } from '@svc/record/running/session-tasks.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { History } from '@svc/terminal/keyboard/history.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { joined, say, type Shown } from '@svc/terminal/screen/shown.ts';
import { plainFlag, plainHelp, shownPlainly } from '../command/plain-context.ts';
import { believedManifest, type ReadManifest, reachOfManifest, reachRow } from '../run/first-minute/found-manifest.ts';
import {
  hasManifest,
  isNamed,
  refuseFlags,
  taskFlagsAsGiven,
  type TrustFlag,
  withTaskFlags,
  withTrustFlag,
} from '../run/first-minute/task-command.ts';
import type { TaskFlags } from '../run/first-minute/open-task.ts';
import { projectOption, writeGitOption } from '../run/run-command.ts';
import { scopeRequest } from '../run/run.ts';
import { usualOptions } from '../run/run-options.ts';
import type { SessionView } from '../shown/session-view.ts';
import { endStopped } from '../sessions/stop.ts';
import { OpenCapsule, runningSessionHelp } from '../sessions/tasks/open-capsule.ts';
import { chatView } from './chat-view.ts';
import { ChatInput } from './chat-input.ts';
import { ChatSession } from './chat-session.ts';
import { type OwnCapsule, startCapsule } from './own-capsule.ts';

const maxName = 200;

export interface ChatOptions extends TaskFlags, TrustFlag {
  /** Whether the command line names the manifest. */
  readonly isNamed?: boolean;
  readonly manifest: string;
  readonly workdir?: string;
  readonly project?: string;
  readonly containment?: string;
  readonly envFile: boolean;
  readonly offline?: boolean;
  readonly history: boolean;
  readonly plain?: boolean;
  readonly sendToken?: boolean;
  readonly continue?: boolean;
}

/** `svc chat [session]`: joins a session, or starts the capsule of the manifest for as long as the chat lasts (docs/cli.md "svc chat"). */
export function chatCommand(context: CommandContext): Command {
  return withTrustFlag(withTaskFlags(new Command('chat')))
    .description('Chat with a running capsule, go on with an ended session, or start the capsule in the manifest.')
    .argument('[session]', `${runningSessionHelp}; a new session when absent`)
    .option('-c, --continue', 'go on with the last session of this folder')
    .option('--manifest <path>', 'the manifest of the capsule that is started', './svc.yaml')
    .option('--workdir <dir>', 'the directory the agent reads and writes, instead of a fresh one')
    .addOption(projectOption())
    .addOption(writeGitOption())
    .option('--containment <class>', 'raise the containment floor of the capsule that is started')
    .option('--no-env-file', 'do not read the .env file of the workspace')
    .option('--offline', 'never fetch an artifact')
    .option('--no-history', 'neither read nor keep what was typed')
    .option(plainFlag, plainHelp)
    .option('--send-token', sendTokenHelp)
    .action(async (wanted: string | undefined, options: ChatOptions, command: Command) => {
      if (wanted !== undefined && options.continue === true)
        command.error('error: --continue means the last session of this folder: leave it out, or the session');
      const where = await shownPlainly(context, options.plain);
      const given = { ...options, isNamed: isNamed(command) };
      const usage = (problem: string): never => command.error(`error: ${problem}`);
      const { meant, ended } = await sessionMeant(wanted, given, where);
      if (ended !== null) return void (process.exitCode = await chatAgain(ended, given, { context: where, usage }));
      if (meant !== undefined || hasManifest(options, context)) refuseFlags(options, usage);
      else {
        const flag = options.trust !== undefined ? '--trust' : options.project !== undefined ? '--project' : null;
        if (flag !== null) usage(`${flag} goes with a manifest: ${options.manifest} is not here`);
      }
      process.exitCode = await chat(meant, given, where);
    });
}

/** The session that is meant; `ended` is its id where it does not run any more, and can be gone on with. */
async function sessionMeant(
  wanted: string | undefined,
  options: ChatOptions,
  context: CommandContext,
): Promise<{ readonly meant: string | undefined; readonly ended: string | null }> {
  if (wanted === undefined && options.continue !== true) return { meant: undefined, ended: null };
  const { endedSessionId, lastSessionOf } = await import('./ended-session.ts');
  const meant = wanted ?? lastSessionOf(context, options.manifest);
  return { meant, ended: endedSessionId(context, options.manifest, meant) };
}

/** Goes on with a session that has ended; the exit code. */
async function chatAgain(
  id: string,
  options: ChatOptions,
  { context, usage }: { readonly context: CommandContext; readonly usage: (problem: string) => never },
): Promise<number> {
  if (!process.stdin.isTTY || !context.stdout.isTerminal) throw noTerminal();
  const { heldToCapsule, isTaskSession, openEndedSession } = await import('./ended-session.ts');
  let notes = say``;
  let needsProject = false;
  if (!isTaskSession(context, options.manifest, id)) {
    refuseFlags(options, usage);
    const now = await manifestOf(options, context);
    notes = await heldToCapsule(id, options, { now, context });
    needsProject = now.needsProject;
  } else if (options.workdir !== undefined || options.trust !== undefined || options.project !== undefined)
    usage('--workdir, --project and --trust go with a manifest: that was a session without one');
  const { history, warning } = History.open(context.home, { isKept: options.history });
  if (warning !== null) context.stderr.write(render([warning], context));
  const ended = await openEndedSession(id, { ...options, needsProject }, context);
  const { goOn } = await import('./going-on.ts');
  return await goOn(ended, { context, history, notes: joined([ended.notes, notes]) });
}

/** Talks to the session that is named, or to one that is started; the exit code. */
export async function chat(wanted: string | undefined, options: ChatOptions, context: CommandContext): Promise<number> {
  if (!process.stdin.isTTY || !context.stdout.isTerminal) throw noTerminal();
  const { history, warning } = History.open(context.home, { isKept: options.history });
  let view: SessionView | null = null;
  const tell = (rows: Shown): void => {
    if (view === null) context.stderr.write(rows);
    else view.say(rows);
  };
  const isDescribed = hasManifest(options, context);
  if (wanted === undefined) tell(runningHere(context, isDescribed ? options.manifest : null));
  if (wanted === undefined && isDescribed) {
    const { reach } = await manifestOf(options, context);
    tell(say`starting the capsule of ${options.manifest} \u00B7 ${reachRow(reach)}\n`);
  }
  const given = isDescribed ? startArguments(options) : startWithoutManifest(options);
  const own = wanted === undefined ? await startCapsule(given, context, tell) : null;
  if (own !== null && 'exit' in own) return own.exit;
  try {
    const session = own?.sessionId ?? wanted;
    const located = await locateRunning(context, session);
    const { sendToken = false } = options;
    const capsule = await OpenCapsule.open(context, session, { method: 'stream/watch', sendToken });
    const isTold = own !== null && !isDescribed;
    return await talk({ context, capsule, located, own, isTold, history }, (made) => {
      view = made;
      if (warning !== null) made.say(render([warning], context));
    });
  } catch (error) {
    if (own !== null) await own.stop();
    throw error;
  }
}

interface Talk {
  readonly context: CommandContext;
  readonly capsule: OpenCapsule;
  readonly located: LocatedCapsule;
  /** It is null for a session that was joined. */
  readonly own: OwnCapsule | null;
  /** Whether its first row, which names model, folder and class, has been said as it started. */
  readonly isTold: boolean;
  readonly history: History;
}

async function talk(parts: Talk, onView: (view: SessionView) => void): Promise<number> {
  const { context, capsule, located, own } = parts;
  const session = (located.record?.session_id ?? located.address).slice(-4);
  let chatting: ChatSession | null = null;
  const view = chatView(context, {
    session,
    resultCount: () => chatting?.resultCount ?? 0,
    hasLogs: () => located.record !== null,
  });
  onView(view);
  const { record } = located;
  const sessions = resolve(context.cwd, '.svc', 'sessions');
  const readPast = (): ReadonlyMap<string, GivenMessage> =>
    record === null ? new Map() : messagesOfRunning(record, sessions);
  chatting = new ChatSession({ context, capsule, view, readPast }, `chat-${randomUUID()}`);
  const name = record === null ? located.address : `…${session}`;
  const snapshot = parts.isTold ? null : await capsule.ask(async (client) => await client.snapshot());
  const keys = 'Ctrl+D leaves, /help says the rest';
  if (parts.isTold) view.say(say`${name} \u00B7 ${keys}\n`);
  else view.say(say`${titleOf(snapshot, name)}${keys}\n`);
  const stop = async (): Promise<void> => {
    chatting.say(say`stopping the capsule\n`);
    if (own !== null) return await own.stop();
    const report = await capsule.ask((client) => client.stop());
    await endStopped(located, report, (rows) => chatting.say(rows));
  };
  const input = new ChatInput({
    context,
    chat: chatting,
    view,
    record,
    history: parts.history,
    isOwn: own !== null,
    stop,
  });
  const endWatch = record === null ? (): void => {} : whenEnded(record, () => chatting.gone());
  try {
    input.open();
    own?.attend();
    const end = await chatting.follow();
    return await input.ended(end);
  } finally {
    endWatch();
    view.close();
    await input.close();
    own?.leave();
  }
}

/**
 * Says which capsules of this folder run: a chat that was killed leaves its own behind (docs/adr/terminal-and-viewer.md "A chat is a client"),
 * and nothing else would show it here. `manifest` is null for a folder without one.
 */
function runningHere({ cwd, home }: CommandContext, manifest: string | null): Shown {
  const here = realPath(manifest === null ? cwd : dirname(resolve(cwd, manifest)));
  const isOfHere = ({ session_directory: session = null, project_folder: folder = null }: RunningRecord): boolean =>
    manifest === null ? folder === here : session !== null && realPath(join(session, '..', '..', '..')) === here;
  const running = readRunningRecords(home).filter(isOfHere);
  const [newest, ...more] = running;
  if (newest === undefined) return say``;
  const ids = running.map(({ session_id: id }) => id);
  const end = suffixOf(newest.session_id, ids);
  const since = shownMinute(newest.started_at_ms);
  const others = more.length === 0 ? say`` : say`; ${more.length} more of this folder run: svc ps lists them`;
  return say`${inertLine(newest.name, maxName)} …${end} of this folder runs already, since ${since}: svc chat ${end} joins it, svc stop ${end} ends it${others}\n`;
}

/** What is talked to. A capsule of before does not say so much. */
function titleOf(snapshot: Snapshot | null, session: string): Shown {
  if (snapshot === null) return say`${session}\n`;
  const { name, version, containment, model } = snapshot;
  return say`${inertLine(`${name} ${version}`, maxName)} · ${containment} · ${session} · ${inertLine(model, maxName)}\n`;
}

async function manifestOf(options: ChatOptions, context: CommandContext): Promise<ReadManifest> {
  if (options.isNamed === true) return await reachOfManifest(options, context);
  const { containment: _, ...others } = options;
  const scope = scopeRequest({ ...usualOptions, ...others }, context);
  return await believedManifest(options, { context, mayAsk: true, scope });
}

/** The capsule of a folder (docs/first-minute.md). */
function startWithoutManifest({ containment, offline, ...flags }: ChatOptions): string[] {
  return [
    ...taskFlagsAsGiven(flags),
    ...(containment === undefined ? [] : ['--containment', containment]),
    ...(offline === true ? ['--offline'] : []),
  ];
}

function startArguments(options: ChatOptions): string[] {
  const { manifest, workdir, project, writeGit, containment, envFile, offline } = options;
  return [
    'run',
    '--manifest',
    manifest,
    ...(workdir === undefined ? [] : ['--workdir', workdir]),
    ...(project === undefined ? [] : ['--project', project]),
    ...(writeGit === true ? ['--write-git'] : []),
    ...(containment === undefined ? [] : ['--containment', containment]),
    ...(envFile ? [] : ['--no-env-file']),
    ...(offline === true ? ['--offline'] : []),
  ];
}

function noTerminal(): Diagnostic {
  return new Diagnostic('E-RUN-121', 'svc chat needs a terminal to type at and to be read on', {
    hint: 'svc -p "<task>" gives a script one answer; svc send <session> "<text>" sends a message',
  });
}
