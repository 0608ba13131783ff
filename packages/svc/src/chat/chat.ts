/** The command `svc chat`: talks to a capsule on a terminal. */

import { randomUUID } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';

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
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import { plainFlag, plainHelp, shownPlainly } from '../command/plain-context.ts';
import { reachRow } from '../run/first-minute/found-manifest.ts';
import {
  hasManifest,
  isNamed,
  refuseFlags,
  taskFlagsAsGiven,
  withTaskFlags,
  withTrustFlag,
} from '../run/first-minute/task-command.ts';
import { projectOption, writeGitOption } from '../run/run-command.ts';
import type { SessionView } from '../shown/session-view.ts';
import { endStopped } from '../sessions/stop.ts';
import { OpenCapsule, runningSessionHelp } from '../sessions/tasks/open-capsule.ts';
import { type ChangedModel, ModelChange } from './change-model.ts';
import { contextPercent } from './chat-context.ts';
import { chatView } from './chat-view.ts';
import { type ChatOptions, type ContinueOptions, manifestOf, noTerminal, refuseOthers } from './chat-options.ts';
import { ChatInput } from './chat-input.ts';
import { ChatSession } from './chat-session.ts';
import { type OwnCapsule, startCapsule } from './own-capsule.ts';

const maxName = 200;

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
      const where = await shownPlainly(context, options.plain);
      const given = { ...options, isNamed: isNamed(command) };
      const usage = (problem: string): never => command.error(`error: ${problem}`);
      if (options.continue === true) return await continueLast(wanted, given, { context: where, usage, command });
      process.exitCode = await talkWith(wanted, given, { context: where, usage, message: null });
    });
}

interface Surroundings {
  readonly context: CommandContext;
  readonly usage: (problem: string) => never;
}

/**
 * `svc --continue ["<text>"]`: goes on with the last session of this folder. The text is sent at once; without a terminal its answer is all that is
 * written. Sets the exit code.
 */
export async function continueLast(
  text: string | undefined,
  options: ContinueOptions,
  { context, usage, command }: Surroundings & { readonly command: Command },
): Promise<void> {
  // As a session it would be the wrong place for it.
  if (text !== undefined && options.print === undefined && !/\s/.test(text.trim()))
    usage(
      `--continue means the last session of this folder: svc chat ${text} goes on with that session, svc -p --continue ${text} sends one word`,
    );
  const isTyped = process.stdin.isTTY && context.stdout.isTerminal;
  const isScript = options.print !== undefined || options.output !== undefined;
  if (isScript || (text !== undefined && !isTyped)) {
    const { answerOn } = await import('./continue-session.ts');
    return await answerOn(text, options, { context, usage, command });
  }
  refuseOthers(command, ofChats, usage);
  const { lastSessionOf } = await import('./ended-session.ts');
  const last = lastSessionOf(context, options.manifest);
  process.exitCode = await talkWith(last, options, { context, usage, message: text ?? null });
}

const ofChats =
  'model keyEnv insecureHttp context write writeGit allow net env mcp skills hostRead projectText manifest workdir project trust containment envFile offline history plain sendToken continue';

/** Joins the session that is named, goes on with it where it has ended, or starts one; the exit code. */
export async function talkWith(
  wanted: string | undefined,
  options: ChatOptions,
  { context, usage, message }: Surroundings & { readonly message: string | null },
): Promise<number> {
  let outcome = await talked(wanted, options, { context, usage, message });
  for (let given = options; typeof outcome !== 'number';) {
    const { chatAgain } = await import('./continue-session.ts');
    const { withModel } = await import('./change-model.ts');
    given = withModel(given, outcome.model);
    outcome = await chatAgain(outcome.session, given, { context, usage, message: null, isShown: true });
  }
  return outcome;
}

async function talked(
  wanted: string | undefined,
  options: ChatOptions,
  { context, usage, message }: Surroundings & { readonly message: string | null },
): Promise<number | ChangedModel> {
  const ended = await endedOf(wanted, options, context);
  if (ended !== null) {
    const { chatAgain } = await import('./continue-session.ts');
    return await chatAgain(ended, options, { context, usage, message, isShown: false });
  }
  if (wanted !== undefined || hasManifest(options, context)) refuseFlags(options, usage);
  else {
    const flag = options.trust !== undefined ? '--trust' : options.project !== undefined ? '--project' : null;
    if (flag !== null) usage(`${flag} goes with a manifest: ${options.manifest} is not here`);
  }
  return await chat(wanted, options, context, message);
}

/** The id of the session that is named where it does not run any more, and can be gone on with. */
async function endedOf(
  wanted: string | undefined,
  { manifest }: ChatOptions,
  context: CommandContext,
): Promise<string | null> {
  if (wanted === undefined) return null;
  const { endedSessionId } = await import('./ended-session.ts');
  return endedSessionId(context, manifest, wanted);
}

/** Talks to the session that is named, or to one that is started; the exit code. */
async function chat(
  wanted: string | undefined,
  options: ChatOptions,
  context: CommandContext,
  message: string | null,
): Promise<number | ChangedModel> {
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
    return await talk({ context, capsule, located, own, isTold, history, message }, (made) => {
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
  /** Is sent at once. */
  readonly message: string | null;
}

async function talk(parts: Talk, onView: (view: SessionView) => void): Promise<number | ChangedModel> {
  const { context, capsule, located, own } = parts;
  const session = (located.record?.session_id ?? located.address).slice(-4);
  let chatting: ChatSession | null = null;
  const view = chatView(context, {
    session,
    resultCount: () => chatting?.resultCount ?? 0,
    hasLogs: () => located.record !== null,
    contextPercent: () => contextPercent(located.record, chatting?.contextTokens ?? 0),
  });
  onView(view);
  const { record } = located;
  const sessions = resolve(context.cwd, '.svc', 'sessions');
  const readPast = (): ReadonlyMap<string, GivenMessage> =>
    record === null ? new Map() : messagesOfRunning(record, sessions);
  chatting = new ChatSession({ context, capsule, view, readPast, record: () => record }, `chat-${randomUUID()}`);
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
  const change = new ModelChange({ chat: chatting, context, isOwnTask: parts.isTold });
  const input = new ChatInput({
    context,
    chat: chatting,
    view,
    record,
    history: parts.history,
    isOwn: own !== null,
    stop,
    changeModel: change.to,
  });
  const endWatch = record === null ? (): void => {} : whenEnded(record, () => chatting.gone());
  try {
    input.open();
    if (parts.message !== null) input.send(parts.message);
    own?.attend();
    const end = await chatting.follow();
    if (end !== 'again' || own === null) return await input.ended(end);
    await own.stop();
    return change.of(own.sessionId);
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
