/** The commands that a person types into a chat. */

import { resolve } from 'node:path';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { writeNewFileSync } from '@svc/kit/files/replace-file.ts';
import { shownBytes, shownCount } from '@svc/kit/shown-values.ts';
import type { Snapshot } from '@svc/protocol/live-events.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import { closestName } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { grantsOfRunning, laterGrantsOfRunning, tasksOfRunning } from '@svc/record/running/session-tasks.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import { say, sayLines, type Shown } from '@svc/terminal/screen/shown.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { renderFailure } from '@svc/terminal/screen/render-failure.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { shownCall } from '../shown/call-rows.ts';
import { cutOf, logsCommandOf } from '../shown/cut-output.ts';
import { changedLines } from '../shown/line-changes.ts';
import { contextPercent, contextSizeOf } from './chat-context.ts';
import type { ChatSession } from './chat-session.ts';
import type { KeptResult, SentMessage } from './kept-results.ts';

/** What commands act on. */
export interface CommandScope {
  readonly chat: ChatSession;
  readonly context: CommandContext;
  /** It is null for a capsule that is no session of this user. */
  readonly record: RunningRecord | null;
  /** A text of others, behind the gutter. */
  readonly quote: (text: string) => void;
  /** Moves all that is shown out of the way. */
  readonly clear: () => void;
  readonly leave: () => void;
  /** Goes on with another model, or says why not. */
  readonly changeModel: (name: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface SlashCommand {
  readonly usage: string;
  readonly help: string;
  readonly run: (rest: string, scope: CommandScope) => Promise<void> | void;
}

const maxWord = 200;
const previewCharacters = 60;
/** As many tools as providers take, and more. */
const maxSkills = 500;
/** How many skills the help names. */
const mostSkills = 40;

const commands: Readonly<Record<string, SlashCommand>> = {
  help: { usage: '/help', help: 'this list', run: (_rest, { chat }) => chat.say(helpRows(chat.snapshot)) },
  tasks: { usage: '/tasks', help: 'tasks of the session, and what each waits for', run: listTasks },
  cancel: {
    usage: '/cancel [task]',
    help: 'cancel the task that runs, or the one named by the end of its id',
    run: cancelTask,
  },
  say: {
    usage: '/say <text>',
    help: 'a message of its own, also while a question waits',
    run: async (rest, { chat }) => {
      if (rest === '') chat.say(say`say what: /say <text>\n`);
      else await chat.message(rest);
    },
  },
  queue: { usage: '/queue', help: 'messages from here that wait', run: listWaiting },
  drop: { usage: '/drop <n>', help: 'take back a message that waits', run: dropWaiting },
  show: { usage: '/show [n]', help: 'what a call gave: the last one, or number n', run: showResult },
  diff: { usage: '/diff [n]', help: 'the whole change that a call made to a file', run: showChange },
  files: { usage: '/files', help: 'the files that the capsule shares, and where its folder is', run: listFiles },
  grants: { usage: '/grants', help: 'what the capsule may do, as --explain-scope says it', run: listGrants },
  tokens: {
    usage: '/tokens',
    help: 'tokens of the session so far, and how full the context of the model is',
    run: sayTokens,
  },
  model: {
    usage: '/model [name]',
    help: 'the model that answers, or go on with another one: provider/name',
    run: async (rest, { chat, changeModel }) => {
      if (rest === '') chat.say(say`${chat.snapshot?.model ?? 'the capsule does not say'}\n`);
      else if (chat.isBusy) chat.say(say`a task runs: Esc cancels it\n`);
      else await changeModel(rest);
    },
  },
  compact: {
    usage: '/compact',
    help: 'have the model sum up what was said, and go on from that',
    run: async (_rest, { chat }) => await chat.compact(),
  },
  save: { usage: '/save <file>', help: 'write the last answer into a new file', run: saveAnswer },
  clear: {
    usage: '/clear',
    help: 'a new conversation on an empty screen; what was shown stays above it',
    run: (_rest, { chat, clear }) => {
      chat.beginAnew();
      clear();
      chat.say(say`- a new conversation: the model knows nothing of what was said before\n`);
    },
  },
  stop: { usage: '/stop', help: 'end the capsule, and the chat with it', run: async (_rest, { stop }) => await stop() },
  quit: { usage: '/quit', help: 'leave the chat', run: (_rest, { leave }) => leave() },
  exit: { usage: '/exit', help: 'the same', run: (_rest, { leave }) => leave() },
};

/** What can be typed behind a slash to this capsule: the commands, and its skills. */
export function chatWords(snapshot: Snapshot | null): readonly string[] {
  return [...Object.keys(commands).map((name) => `/${name}`), ...skillsOf(snapshot).map(skillCommand)];
}

/** The line that sends a message once more. */
export function lineOf({ text, skills }: Pick<SentMessage, 'text' | 'skills'>): string {
  return [...skills.map(skillCommand), text].join(' ');
}

/** A capsule of before does not say which it has, and one of a stranger may say anything. */
function skillsOf(snapshot: Snapshot | null): readonly string[] {
  return (snapshot?.skills ?? []).filter((name) => /^[a-z0-9-]{1,100}$/.test(name)).slice(0, maxSkills);
}

/** A command has its name before a skill. */
function skillCommand(skill: string): string {
  return Object.hasOwn(commands, skill) ? `/skill:${skill}` : `/${skill}`;
}

/** Runs the command of a line that begins with a slash. Reports one that does not exist, with those whose names are like it. */
export async function runSlashCommand(line: string, scope: CommandScope): Promise<void> {
  const [, name = '', rest = ''] = /^\/(\S*)\s*([^]*)$/.exec(line) ?? [];
  if (name === '') return scope.chat.say(helpRows(scope.chat.snapshot));
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const skills = skillsOf(scope.chat.snapshot);
    const skill = skills.find((each) => `/${name}` === skillCommand(each) || name === `skill:${each}`);
    if (skill !== undefined) return void (await scope.chat.message(rest.trimEnd(), [skill]));
    const words = chatWords(scope.chat.snapshot);
    const near = closestName(`/${name}`, words);
    const like = near === undefined ? words.filter((each) => each.startsWith(`/${name.slice(0, 2)}`)) : [near];
    const hint = like.length === 0 ? '/help lists them' : `did you mean ${like.join(' or ')}?`;
    return scope.chat.say(say`there is no command or skill /${inertLine(name, maxWord)}; ${hint}\n`);
  }
  await command.run(rest.trim(), scope);
}

function sayTokens(_rest: string, { chat, record }: CommandScope): void {
  const size = contextSizeOf(record);
  const percent = contextPercent(record, chat.contextTokens) ?? 0;
  const full =
    size === null
      ? say`; what the model takes at once is not known here`
      : say`; ${percent} % of the context is used, of ${shownCount(size)} tokens`;
  chat.say(say`${shownCount(chat.tokens)} tokens so far${full}\n`);
}

function helpRows(snapshot: Snapshot | null): Shown {
  const all = [
    {
      usage: '!<command>',
      help: 'run it in the shell of the capsule, with what that is granted, and show what it gives',
    },
    { usage: '!!<command>', help: 'the same, and the model reads what it gave' },
    ...Object.values(commands),
  ];
  const rows = all.map(({ usage, help }) => `  ${usage.padEnd(16)}${help}`);
  const skills = skillsOf(snapshot).map((name) => inertLine(skillCommand(name), maxWord));
  if (skills.length > 0) rows.push(`  skills: ${firstNames(skills, mostSkills)}, each with a text behind it`);
  const keys = [
    'Enter sends; Alt+Enter or \\ and Enter begin a new line; Tab completes /commands and @paths.',
    'Esc cancels the task that runs; Esc twice takes the last waiting message back; Ctrl+D leaves.',
    'A text that begins with // is sent with one slash; /say sends one that begins with !.',
  ];
  return sayLines(`${[...rows, ...keys].join('\n')}\n`);
}

function listTasks(_rest: string, { chat, context, record }: CommandScope): void {
  if (record === null) return chat.say(say`the tasks of a capsule that is not of this user are not known\n`);
  const { tasks, unreadLines } = tasksOfRunning(record, resolve(context.cwd, '.svc', 'sessions'));
  if (unreadLines > 0)
    chat.say(say`the trace has lines that cannot be read, which are left out here: ${unreadLines}\n`);
  if (tasks.length === 0) return chat.say(say`the session has had no task\n`);
  for (const { task, state, text } of tasks)
    chat.say(say`  ${task.slice(-8)}  ${state.padEnd(14)}  ${inertLine(text ?? '', previewCharacters)}\n`);
}

async function listGrants(_rest: string, { chat, context, record }: CommandScope): Promise<void> {
  const sessions = resolve(context.cwd, '.svc', 'sessions');
  const grants = record === null ? null : grantsOfRunning(record, sessions);
  if (record === null || grants === null) return chat.say(say`what that capsule was granted is not known here\n`);
  const { renderScopeReport } = await import('../run/scope-report.ts');
  try {
    chat.say(sayLines(renderScopeReport(grants as unknown as ScopeObject)));
    const { laterGrantRows } = await import('../shown/later-grants.ts');
    chat.say(laterGrantRows(laterGrantsOfRunning(record, sessions)));
  } catch (error) {
    // Commands may have written the trace, and then it need not have the shape.
    if (!(error instanceof TypeError)) throw error;
    chat.say(say`! the trace does not say what that capsule was granted in a form that svc knows\n`);
  }
}

async function cancelTask(rest: string, { chat, context, record }: CommandScope): Promise<void> {
  if (rest === '') return await chat.cancel();
  const known = record === null ? [] : tasksOfRunning(record, resolve(context.cwd, '.svc', 'sessions')).tasks;
  const [id, another] = known.map(({ task }) => task).filter((task) => task.endsWith(rest.replace(/^…/, '')));
  if (id === undefined || another !== undefined)
    return chat.say(
      say`${id === undefined ? 'no task' : 'more than one task'} ends with ${inertLine(rest, maxWord)}: /tasks lists them\n`,
    );
  await chat.cancel(id);
}

function listWaiting(_rest: string, { chat }: CommandScope): void {
  const { waiting } = chat;
  if (waiting.length === 0) return chat.say(say`no message waits\n`);
  for (const [index, { text }] of waiting.entries())
    chat.say(say`  ${index + 1}  ${inertLine(text, previewCharacters)}\n`);
}

async function dropWaiting(rest: string, { chat }: CommandScope): Promise<void> {
  const message = /^\d{1,4}$/.test(rest) ? chat.waiting[Number(rest) - 1] : undefined;
  if (message === undefined) return chat.say(say`name a message that waits: /queue lists them\n`);
  await chat.cancel(message.taskId);
}

function resultNamed(
  rest: string,
  { chat }: CommandScope,
  { fits, none }: { readonly fits: (kept: KeptResult) => boolean; readonly none: string },
): KeptResult | null {
  const kept = chat.results.filter(fits);
  const found = rest === '' ? kept.at(-1) : kept.find(({ number }) => String(number) === rest);
  if (found !== undefined) return found;
  const first = kept[0]?.number;
  chat.say(
    kept.length === 0
      ? say`${none}\n`
      : say`there is no ${inertLine(rest, maxWord)}: name one from ${first ?? 0} to ${kept.at(-1)?.number ?? 0}\n`,
  );
  return null;
}

/** The content as the model got it, and where the rest of it is. */
function showResult(rest: string, scope: CommandScope): void {
  const kept = resultNamed(rest, scope, { fits: () => true, none: 'no call has ended yet' });
  if (kept === null) return;
  const { result } = kept;
  scope.chat.say(say`${shownCall(result.name, result).about}\n`);
  scope.quote(result.content === '' ? '(empty)' : result.content);
  const cut = cutOf(result);
  if (cut === null) return;
  const { record } = scope;
  if (cut === 'not-kept') scope.chat.say(say`- the rest of the output is not kept\n`);
  else if (record === null) scope.chat.say(say`- the rest of the output is in the logs of the capsule\n`);
  else scope.chat.say(say`- the rest of the output: ${logsCommandOf(record.session_id.slice(-4), result)}\n`);
}

function showChange(rest: string, scope: CommandScope): void {
  const changesOf = ({ result }: KeptResult): readonly string[] => {
    const { changes } = shownCall(result.name, result);
    return changes === null ? [] : changedLines(changes, result.content);
  };
  const kept = resultNamed(rest, scope, {
    fits: (each) => changesOf(each).length > 0,
    none: 'no call has changed a file with the editor yet',
  });
  if (kept !== null) scope.quote(changesOf(kept).join('\n'));
}

async function listFiles(_rest: string, { chat, record, context }: CommandScope): Promise<void> {
  if (record !== null) chat.say(say`the folder of the capsule is ${record.workdir}\n`);
  try {
    const { files } = await chat.capsule.ask((client) => client.files());
    for (const { path, size_bytes: bytes } of files) chat.say(say`  ${path}  ${shownBytes(bytes)}\n`);
    if (files.length === 0) chat.say(say`it shares no file\n`);
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    const shown = renderFailure(error, context);
    if (record === null && shown !== null) chat.say(shown);
  }
}

function saveAnswer(rest: string, { chat, context, record }: CommandScope): void {
  if (rest === '') return chat.say(say`name a file: /save answer.md\n`);
  if (chat.answer.text === '') return chat.say(say`there is no answer yet\n`);
  const path = resolve(context.cwd, rest);
  const { text, isCut } = chat.answer;
  try {
    writeNewFileSync(path, Buffer.from(text.endsWith('\n') ? text : `${text}\n`));
    if (!isCut) return chat.say(say`wrote ${path}\n`);
    const place = record === null ? 'of the capsule' : `in ${record.workdir}`;
    chat.say(say`! wrote ${path}, with the beginning of the answer alone: out/result.txt ${place} has all of it\n`);
  } catch (error) {
    const fault = ioFault(error, `${path} cannot be written`);
    const shown = renderFailure(fault, context);
    if (shown === null) throw fault;
    chat.say(shown);
  }
}
