/** The command line `svc "task"`: a task for which no manifest is needed. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';

import { reachOf } from '@svc/capsule/launch/capsule-reach.ts';
import type { RunningCapsule } from '@svc/capsule/launch/running-capsule.ts';
import type { ScopeRequest } from '@svc/capsule/launch/scope-of-launch.ts';
import { quotedWord } from '@svc/kit/diagnostics/shell-word.ts';
import { parseDestination } from '@svc/kit/net/network-destination.ts';
import { version } from '@svc/kit/version.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, type Shown } from '@svc/terminal/screen/shown.ts';
import { shownPlainly } from '../../command/plain-context.ts';
import { run, scopeRequest } from '../run.ts';
import { explain, runCommand } from '../run-command.ts';
import type { RunOptions } from '../run-options.ts';
import type { ScriptCompanion } from '../script/script-run.ts';
import { serverWords } from './named-servers.ts';
import { openTask, type TaskFlags } from './open-task.ts';
import type { CompanionRequest } from './task-companion.ts';

export type TaskOptions = Omit<RunOptions, 'print'> &
  TaskFlags &
  TrustFlag & { readonly print?: string | true; readonly continue?: boolean };

/** What only the capsule of a manifest that was found takes. */
export interface TrustFlag {
  readonly trust?: boolean;
}

/**
 * `svc "task"` and `svc -p "task"`: with the manifest of the current folder where there is one, else with the folder itself, read only (docs/first-minute.md). It has the
 * options of `svc run` too.
 */
export function taskCommand(context: CommandContext, conversation: Conversation | null): Command {
  return withTrustFlag(withTaskFlags(runCommand(context)))
    .name('svc')
    .usage('[options] "<task>"')
    .description('Do one task in the current folder, read only without --write. Without a task: svc help.')
    .argument('[task]', 'what is to be done, in quotes')
    .option('-c, --continue', 'go on with the last session of this folder')
    .addHelpText('after', '\nExamples:\n  svc "why does the cart test fail?"\n  svc --allow node,npm "run the tests"')
    .action(async (text: string | undefined, options: TaskOptions, command: Command) => {
      const usage = (problem: string): never => command.error(`error: ${problem}`);
      checkTask(text, options, usage);
      const where = await shownPlainly(context, options.plain);
      if (options.continue === true && conversation !== null)
        return await conversation.goOn(
          text,
          { ...options, isNamed: isNamed(command) },
          { context: where, usage, command },
        );
      process.exitCode = await start(text, options, {
        context: where,
        usage,
        isNamed: isNamed(command),
        talk: talkOf(command, conversation?.talk ?? null),
      });
    });
}

/** Talks with a capsule of the current folder, and returns the exit code. */
type Talk = (flags: TaskFlags, context: CommandContext) => Promise<number>;

/** What a line that is no single task leads to. */
export interface Conversation {
  readonly talk: Talk;
  /** Goes on with the last session, and sets the exit code. */
  readonly goOn: (
    text: string | undefined,
    options: TaskOptions & { readonly isNamed: boolean },
    around: Pick<Surroundings, 'context' | 'usage'> & { readonly command: Command },
  ) => Promise<void>;
}

/** Options that mean in a chat what they mean for a task. */
const ofChat: ReadonlySet<string> = new Set(
  'model keyEnv insecureHttp context write writeGit allow net env mcp skills hostRead projectText containment offline'.split(
    ' ',
  ),
);

/** Returns null where the command line has an option that only a task takes. */
function talkOf(command: Command, talk: Talk | null): Talk | null {
  const given = command.options.map((option) => option.attributeName());
  const isChat = given.every((name) => command.getOptionValueSource(name) !== 'cli' || ofChat.has(name));
  return isChat ? talk : null;
}

/** Adds what decides about the work without a manifest. */
export function withTaskFlags(command: Command): Command {
  return command
    .option('--model <model>', 'provider/name, or http(s)://host:port/name')
    .option('--key-env <name>', 'the variable with the key for the server of that model, and for no other', aName)
    .option('--insecure-http', 'let --model name a private address with http, which others can read')
    .option('--write', 'let the task change files of this folder; there is no undo yet')
    .option('--allow <commands>', 'commands that the task may run too, such as npm,node', names(commandShape))
    .option('--net <hosts>', 'hosts that its commands may reach', hosts)
    .option('--env <names>', 'variables that its commands are given', names(variableShape))
    .option('--context <tokens>', 'what the model takes at once: earlier parts are summed up before it is full', tokens)
    .option(
      '--mcp <server>',
      'an MCP server whose tools the task may call: "npx -y <package> .", or https://<host>/<path>',
      aServer,
    )
    .option('--skills', 'offer the skills of .agents/skills and .claude/skills, here and of the home directory')
    .option('--no-project-text', 'leave AGENTS.md of the folder out, which is put before the task')
    .option('--host-read <paths>', 'folders of this machine that its commands may read, such as /opt/sdk', paths);
}

/** Adds what says yes to the manifest of the current folder. */
export function withTrustFlag(command: Command): Command {
  return command.option('--trust', 'trust the svc.yaml of this folder as it is, without asking');
}

/** Whether the command line names the capsule: nobody has to be asked about that one. */
export function isNamed(command: Command): boolean {
  return command.getOptionValueSource('manifest') === 'cli' || command.getOptionValueSource('capsule') === 'cli';
}

/** Without those that are undefined. */
export function flagsThatAreSet(flags: { readonly [Name in keyof TaskFlags]: TaskFlags[Name] | undefined }): TaskFlags {
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
}

/** The same on the command line of another `svc`. */
export function taskFlagsAsGiven(flags: TaskFlags): readonly string[] {
  const {
    model,
    keyEnv,
    insecureHttp,
    context,
    projectText,
    write,
    writeGit,
    allow,
    net,
    env,
    hostRead,
    mcp = [],
    skills,
  } = flags;
  const lists = { allow, net, env, 'host-read': hostRead };
  return [
    ...(model === undefined ? [] : ['--model', model]),
    ...(keyEnv === undefined ? [] : ['--key-env', keyEnv]),
    ...(insecureHttp === true ? ['--insecure-http'] : []),
    ...(context === undefined ? [] : ['--context', String(context)]),
    ...(projectText === false ? ['--no-project-text'] : []),
    ...(skills === true ? ['--skills'] : []),
    ...(write === true ? ['--write'] : []),
    ...(writeGit === true ? ['--write-git'] : []),
    ...mcp.flatMap((words) => ['--mcp', words.map(quotedWord).join(' ')]),
    ...Object.entries(lists).flatMap(([name, given]) => (given === undefined ? [] : [`--${name}`, given.join(',')])),
  ];
}

function checkTask(text: string | undefined, options: TaskOptions, usage: (problem: string) => never): void {
  if (text === undefined) return;
  if (typeof options.print === 'string' || options.task !== undefined) usage('give the task once');
  if (text.trim() === '') usage('the task is empty: svc "<task>" says what is to be done, svc help lists the commands');
  // As a first word it would have been taken for a command.
  if (options.print === undefined && !/\s/.test(text))
    usage(`${text} is one word: a task of one word is given with -p`);
}

interface Surroundings {
  readonly context: CommandContext;
  readonly usage: (problem: string) => never;
  readonly isNamed: boolean;
  readonly talk: Talk | null;
}

async function start(
  text: string | undefined,
  options: TaskOptions,
  { context, usage, isNamed, talk }: Surroundings,
): Promise<number> {
  // A text alone is shown while it is worked on; the other ways are those of scripts.
  const isWatched = options.print === undefined && options.output === undefined;
  const explains = isWatched && options.explainScope === true;
  const asked: RunOptions = {
    ...options,
    ...(text !== undefined ? { print: text } : isWatched ? { print: true } : {}),
  };
  // The folder of a session that is gone on with may have got a manifest since.
  if (options.continues === undefined && hasManifest(options, context)) {
    refuseFlags(options, usage);
    if (explains) return await explained(options, context);
    const { believedManifest, folderRow, reachRow } = await import('./found-manifest.ts');
    const believed = async (): Promise<Partial<ScopeRequest>> => {
      if (isNamed) return {};
      const { text: manifestText } = await believedManifest(options, {
        context,
        mayAsk: isWatched,
        scope: scopeRequest(options, context),
      });
      return { manifestText };
    };
    // A person who is asked has nothing to stop yet. A script gets the refusal in the form that it wants.
    const found = isWatched ? await believed() : null;
    const firstRows = (capsule: RunningCapsule): Shown =>
      exactLine`svc ${version} \u00B7 ${capsule.name} ${capsule.version} (${options.manifest}) \u00B7 ${capsule.model} \u00B7 ${folderRow(capsule.launch.grants.project, options, context.cwd)} \u00B7 ${reachRow(reachOf(capsule.launch))}\n`;
    const companion = text === undefined ? null : await companionOf({ context, isWatched, firstRows, adhoc: null });
    return await run(asked, context, usage, { companion, request: async () => found ?? (await believed()) });
  }
  for (const [given, flag] of [
    [options.workdir, '--workdir'],
    [options.project, '--project'],
    [options.replay, '--replay'],
    [options.trust, '--trust'],
  ] as const)
    if (given !== undefined) usage(`${flag} goes with a manifest: ${options.manifest} is not here`);
  const isGiven = text !== undefined || options.task !== undefined || options.forChat === true;
  const isTyped = !isGiven && isWatched && !explains && process.stdin.isTTY;
  if (isTyped && talk !== null && context.stdout.isTerminal) return await talk(options, context);
  if (isTyped) usage('there is no task: svc [options] "<task>" does one, svc chat [options] talks');
  const { request, firstRows, adhoc } = await openTask(
    { ...options, isChat: options.forChat === true },
    context,
    explains,
  );
  if (explains) return await explained(options, context, request);
  if (options.forChat === true) {
    // The chat that reads this shows it.
    context.stderr.write(firstRows());
    const companion = await companionOf({ context, isWatched: false, firstRows, adhoc, isChat: true });
    return await run(options, context, null, { companion, request: async () => request });
  }
  const companion = await companionOf({ context, isWatched, firstRows, adhoc });
  return await run({ ...asked, isAdhoc: true }, context, usage, { companion, request: async () => request });
}

async function companionOf(request: CompanionRequest): Promise<ScriptCompanion> {
  const { openCompanion } = await import('./task-companion.ts');
  return await openCompanion(request);
}

async function explained(...of: Parameters<typeof explain>): Promise<number> {
  await explain(...of);
  return 0;
}

/** Returns whether the task is for a manifest. A manifest that is named counts, even when it is not there. */
export function hasManifest(
  { manifest, capsule }: Pick<TaskOptions, 'manifest' | 'capsule'>,
  { cwd }: CommandContext,
): boolean {
  return manifest !== './svc.yaml' || capsule !== undefined || existsSync(resolve(cwd, manifest));
}

/** `usage` refuses flags of a task without a manifest where there is one. */
export function refuseFlags(
  options: TaskFlags & Pick<TaskOptions, 'manifest' | 'workdir'>,
  usage: (problem: string) => never,
): void {
  const ofFolder = options.workdir === undefined ? (['writeGit'] as const) : [];
  const flags = [
    'model',
    'keyEnv',
    'insecureHttp',
    'context',
    'write',
    ...ofFolder,
    'allow',
    'net',
    'env',
    'mcp',
    'skills',
    'hostRead',
  ] as const;
  const given = options.projectText === false ? 'noProjectText' : flags.find((flag) => options[flag] !== undefined);
  if (given === undefined) return;
  usage(
    `--${given.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} is for a task without a manifest, and ${options.manifest} says what its capsule may do: change it there`,
  );
}

const variableShape = /^[A-Za-z_][A-Za-z0-9_]*$/;

function aServer(line: string, before: readonly (readonly string[])[] = []): readonly (readonly string[])[] {
  const words = serverWords(line);
  if (typeof words === 'string') throw new InvalidArgumentError(words);
  if (before.length >= maxServers) throw new InvalidArgumentError(`a task has at most ${maxServers} servers`);
  return [...before, words];
}

/** The system prompt and the tools alone take some thousand. */
const leastContext = 6000;

function tokens(text: string): number {
  const count = Number(text);
  if (/^\d{1,9}$/.test(text) && count >= leastContext) return count;
  throw new InvalidArgumentError(`it must be a whole number of at least ${leastContext}`);
}

const maxServers = 16;

function aName(text: string): string {
  if (!variableShape.test(text) || text.length > 64)
    throw new InvalidArgumentError(`it must be the name of a variable`);
  return text;
}

const commandShape = /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/;

function names(shape: RegExp): (text: string, before?: readonly string[]) => readonly string[] {
  return (text, before = []) => {
    const given = text.split(',').map((name) => name.trim());
    const odd = given.find((name) => !shape.test(name) || name.length > 64);
    if (odd !== undefined) throw new InvalidArgumentError(`${JSON.stringify(odd)} is no such name`);
    return [...new Set([...before, ...given])];
  };
}

function paths(text: string, before: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...text.split(',')])];
}

function hosts(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(',').map((host) => host.trim());
  for (const host of given) {
    const reading = parseDestination(host);
    if (reading.kind === 'malformed') throw new InvalidArgumentError(`${JSON.stringify(host)} ${reading.reason}`);
  }
  return [...new Set([...before, ...given])];
}
