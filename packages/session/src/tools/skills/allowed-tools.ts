/** Says what the words of `allowed-tools` allow in a capsule: which calls, and what a command that is called may start and write. */

import { matchesText } from '@svc/artifacts/manifest/name-pattern.ts';

/** A tool of the session, as far as lists distinguish tools. */
export interface ListedCallable {
  readonly name: string;
  readonly kind: string;
  /** The artifact of a tool that an MCP server offers. */
  readonly artifact?: string | undefined;
  /** What the server calls it, where the manifest gives it another name. */
  readonly listedAs?: string | undefined;
}

/** One kind of call that a list lets through. */
export interface Permit {
  readonly tool: string;
  /** The words that the arguments of a command begin with, or are where it is not `open`; any when absent. `*` stands for what is within one word. */
  readonly words?: readonly string[];
  readonly open?: boolean;
  /** The one command of the editor. */
  readonly command?: string;
  /** The one capsule to delegate to. */
  readonly capsule?: string;
  /** The command sees its workdir read only, and starts nothing. */
  readonly readOnly?: true;
}

/** What a list comes to. */
export interface AllowedTools {
  readonly permits: readonly Permit[];
  /** The words that stand for nothing here. */
  readonly unknown: readonly string[];
}

/** A skill in use: `permits` is null where it has no list. */
export interface SkillInUse {
  readonly name: string;
  readonly permits: readonly Permit[] | null;
}

/** A call as lists judge it. */
export interface JudgedToolCall {
  readonly tool: string;
  /** The words that a command starts with. Is null if its line may mean others, and absent of everything but commands. */
  readonly words?: readonly string[] | null;
  /** `command` of the editor. */
  readonly command?: string;
  /** `capsule` of a delegation. */
  readonly capsule?: string;
}

/** What a launch may do. */
export interface LaunchBounds {
  readonly commands: readonly string[];
  readonly writable: boolean;
}

export interface SkillPlace {
  /** Its folder as commands name it, with a slash at the end. */
  readonly root: string;
  /** The program that runs a file, for those that are scripts. */
  readonly scripts: Readonly<Record<string, string>>;
}

export const editorTool = 'svc-tool-editor';
const questionTool = 'svc-tool-request-input';
export const delegationTool = 'delegate-task';

interface Role {
  /** Commands of the editor. */
  readonly editor?: readonly string[];
  /** Commands that only read, whatever their arguments: not `find`, `sed` or `sort`, whose arguments write files or start programs. */
  readonly readers?: readonly string[];
  readonly tool?: string;
}

const read: Role = { editor: ['read'], readers: ['cat', 'head', 'tail', 'wc', 'stat'] };
const search: Role = { editor: ['search'], readers: ['grep'] };
const list: Role = { editor: ['list'], readers: ['ls'] };
const write: Role = { editor: ['write'] };
const patch: Role = { editor: ['patch'] };
const question: Role = { tool: questionTool };
const delegation: Role = { tool: delegationTool };

/** Names that other clients have for what is here in another way. */
const roles: Readonly<Record<string, Role>> = {
  Read: read,
  NotebookRead: read,
  read,
  read_file: read,
  readFile: read,
  Grep: search,
  grep: search,
  search_file_content: search,
  Glob: list,
  glob: list,
  LS: list,
  list_directory: list,
  Write: write,
  write,
  write_file: write,
  Edit: patch,
  MultiEdit: patch,
  edit: patch,
  apply_patch: patch,
  replace: patch,
  AskUserQuestion: question,
  ask_user: question,
  Task: delegation,
  Agent: delegation,
};

/** The commands that a word may allow for reading alone. */
export const readerCommands: readonly string[] = Object.values(roles).flatMap(({ readers = [] }) => readers);

const shells: ReadonlySet<string> = new Set(['Bash', 'bash', 'Shell', 'shell', 'run_shell_command', 'execute']);

/** What other clients have tools for, and an agent here does without any. */
const needless: ReadonlySet<string> = new Set([
  'TodoWrite',
  'TodoRead',
  'TaskCreate',
  'TaskUpdate',
  'TaskList',
  'TaskGet',
  'think',
  'EnterPlanMode',
  'ExitPlanMode',
]);

/** What these words allow of what a model can call. A word allows nothing that is not there. */
export function allowedTools(
  words: readonly string[],
  callable: readonly ListedCallable[],
  place: SkillPlace,
): AllowedTools {
  const permits: Permit[] = [];
  const unknown: string[] = [];
  for (const word of words) {
    const found = permitsOf(word, callable, place);
    if (found === null) continue;
    if (found.length === 0) unknown.push(word);
    permits.push(...found);
  }
  return { permits, unknown };
}

function partsOf(word: string): { readonly head: string | undefined; readonly argument: string | undefined } {
  const [, head, inner] = /^([^()]+)(?:\((.*)\))?$/s.exec(word) ?? [];
  return { head, argument: inner?.trim() };
}

/** The names that a word has of what it allows, scripts left out; `*` in one stands for any part. */
export function namesIn(word: string): readonly string[] {
  const { head, argument } = partsOf(word);
  if (head === undefined || !shells.has(head)) return head === undefined ? [] : [head];
  return commandPermits(argument ?? '', { root: '', scripts: {} }).map(({ tool }) => tool);
}

/** The artifact of an MCP server that a word names, and its tool; null for another word. */
export function serverToolIn(word: string): { readonly artifact: string; readonly tool: string } | null {
  const [, artifact, tool = '*'] = /^mcp__(.+?)(?:__(.+))?$/.exec(word) ?? [];
  return artifact === undefined ? null : { artifact, tool };
}

/** Returns null for a word that nothing has to stand for. */
function permitsOf(word: string, callable: readonly ListedCallable[], place: SkillPlace): readonly Permit[] | null {
  const { head, argument } = partsOf(word);
  if (head === undefined) return [];
  if (needless.has(head)) return null;
  const commands = callable.filter(({ kind }) => kind === 'shell').map(({ name }) => name);
  const isThere = ({ tool }: Permit): boolean => callable.some(({ name }) => name === tool);
  if (shells.has(head)) {
    if (argument === undefined || argument === '*' || argument === ':*') return commands.map((tool) => ({ tool }));
    return commandPermits(argument, place).filter(({ tool }) => commands.includes(tool));
  }
  if (head === 'Skill') {
    const skills = callable.filter(({ kind, name }) => kind === 'skill' && (argument ?? name) === name);
    return skills.map(({ name: tool }) => ({ tool }));
  }
  const role = Object.hasOwn(roles, head) ? roles[head] : undefined;
  if (role !== undefined) return rolePermits(role, argument, commands).filter(isThere);
  return argument === undefined ? namedPermits(head, callable) : [];
}

function rolePermits(role: Role, argument: string | undefined, commands: readonly string[]): readonly Permit[] {
  const { editor = [], readers = [], tool } = role;
  if (tool !== undefined && (argument === undefined || tool === delegationTool)) {
    return [{ tool, ...(argument === undefined ? {} : { capsule: argument }) }];
  }
  if (argument !== undefined) return [];
  return [
    ...editor.map((command) => ({ tool: editorTool, command })),
    ...readers.filter((name) => commands.includes(name)).map((name) => ({ tool: name, readOnly: true }) as const),
  ];
}

/** `mcp__<artifact>`, `mcp__<artifact>__<tool>`, or the name of a tool; `*` stands for any part of the tool's name. */
function namedPermits(pattern: string, callable: readonly ListedCallable[]): readonly Permit[] {
  const server = serverToolIn(pattern);
  const found =
    server === null
      ? callable.filter(({ name }) => matchesText(pattern, name))
      : callable.filter(
          ({ kind, artifact, name, listedAs }) =>
            kind === 'mcp' &&
            artifact === server.artifact &&
            matchesText(server.tool, listedAs ?? name.slice(artifact.length + 2)),
        );
  return found.map(({ name }) => ({ tool: name }));
}

const ownFolder = /^(\$\{(CLAUDE_)?SKILL_DIR\}|\{baseDir\}|\.)\//;

/** `git:*`, `git diff *`, `npm run test`, `scripts/scan.sh:*`; none of what only a shell could read. */
function commandPermits(text: string, { root, scripts }: SkillPlace): readonly Permit[] {
  const open = /(:\*|\s\*)$/.test(text);
  const plain = text.replace(/(:\*|\s\*)$/, '').trim();
  if (plain === '' || /["'`$\\;&|<>(){}\n]/.test(plain.replace(ownFolder, ''))) return [];
  const [command = '', ...words] = plain.split(/\s+/);
  if (command.includes('/')) {
    const file = command.replace(ownFolder, '');
    const interpreter = Object.hasOwn(scripts, file) ? scripts[file] : undefined;
    return interpreter === undefined ? [] : [{ tool: interpreter, words: [`${root}${file}`, ...words], open }];
  }
  if (command.includes('*')) return [];
  return [open && words.length === 0 ? { tool: command } : { tool: command, words, open }];
}

function lets(permit: Permit, call: JudgedToolCall): boolean {
  if (permit.tool !== call.tool) return false;
  if (permit.command !== undefined && permit.command !== call.command) return false;
  if (permit.capsule !== undefined && permit.capsule !== call.capsule) return false;
  if (permit.words === undefined) return true;
  const given = call.words ?? null;
  if (given === null || given.length < permit.words.length) return false;
  if (permit.open !== true && given.length !== permit.words.length) return false;
  return permit.words.every((word, index) => matchesText(word, given[index] ?? ''));
}

/** The first skill whose list does not let a call through; null where all do. */
export function inTheWay(inUse: readonly SkillInUse[], call: JudgedToolCall): SkillInUse | null {
  return inUse.find(({ permits }) => permits !== null && !permits.some((permit) => lets(permit, call))) ?? null;
}

/** What a call that all let through may start beside itself, and whether it may write. */
export function boundedLaunch(inUse: readonly SkillInUse[], call: JudgedToolCall, capsule: LaunchBounds): LaunchBounds {
  let { commands, writable } = capsule;
  for (const { permits } of inUse) {
    if (permits === null) continue;
    const onlyReads = permits.filter((permit) => lets(permit, call)).every(({ readOnly }) => readOnly === true);
    const startable = onlyReads ? new Set<string>() : startableOf(permits);
    commands = commands.filter((name) => startable.has(name));
    writable &&= !onlyReads;
  }
  return { commands, writable };
}

/** The commands that a program may start: it can start them in any way, so none that only some arguments are allowed for. */
function startableOf(permits: readonly Permit[]): ReadonlySet<string> {
  return new Set(
    permits.filter(({ words, readOnly }) => words === undefined && readOnly !== true).map(({ tool }) => tool),
  );
}

/** The skill in use with which another one would leave nothing that both allow; null where something is left. */
export function closedBy(inUse: readonly SkillInUse[], another: SkillInUse): SkillInUse | null {
  const { permits } = another;
  if (permits === null) return null;
  return inUse.find((one) => one.permits !== null && !one.permits.some((each) => permits.some(mayMeet(each)))) ?? null;
}

function mayMeet(one: Permit): (other: Permit) => boolean {
  const differ = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && a !== b;
  return (other) =>
    one.tool === other.tool && !differ(one.command, other.command) && !differ(one.capsule, other.capsule);
}

/** A list in words for a model or a person: `git diff …; cat, grep (read only); svc-tool-editor read, search`. */
export function shownPermits(permits: readonly Permit[]): string {
  const readers = new Set(permits.filter(({ readOnly }) => readOnly === true).map(({ tool }) => tool));
  const editing = new Set(permits.flatMap(({ command }) => command ?? []));
  const others = permits
    .filter(({ readOnly, command }) => readOnly !== true && command === undefined)
    .map(({ tool, words = [], open, capsule }) => {
      const shown = [tool, ...words, ...(capsule === undefined ? [] : [capsule])].join(' ');
      return open === true ? `${shown} …` : shown;
    });
  const parts = [
    ...new Set(others),
    ...(readers.size === 0 ? [] : [`${[...readers].join(', ')} (read only)`]),
    ...(editing.size === 0 ? [] : [`${editorTool} ${[...editing].join(', ')}`]),
  ];
  return parts.length === 0 ? 'nothing here' : parts.join('; ');
}
