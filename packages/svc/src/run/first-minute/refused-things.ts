/** Finds out what a task was refused, and which flag would grant it. */

import { join } from 'node:path';

import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { formatDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import { classifyAddress, fixedAddresses } from '@svc/kit/net/address-class.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import type { ApprovalOption } from '@svc/protocol/approval.ts';
import type { WantedCommand, Widening } from '@svc/session/approvals/wanted-grants.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import type { DispatchedCall } from '@svc/session/tools/tool.ts';
import { joined, say, type Shown } from '@svc/terminal/screen/shown.ts';
import type { RefusedThing } from '../script/run-result.ts';
import { editor, type TaskGrants } from './capsule-text.ts';

interface RefusalQuestion {
  readonly grants: TaskGrants;
  /** `PATH`: what is not installed needs no flag. */
  readonly searchPath: string;
  /** The folder, for a person. */
  readonly folder: string;
}

const maxThings = 20;
/** A task asks for no more commands and hosts than that. */
const maxAsked = 20;
/** Limit for what a call was given and said. */
const maxText = 16 * 1024;
const largestLog = 1024 * 1024;

const name = '([A-Za-z0-9][A-Za-z0-9._+-]{0,63})';
/** A shell, or a program that starts others, did not find or may not run a command. */
const unstarted = [
  new RegExp(
    `\\b(?:sh|bash|dash|zsh): (?:line )?(?:\\d+: )?(?:/[^\\s:]{0,200}/)?${name}: (?:not found|command not found|Permission denied)`,
    'g',
  ),
  new RegExp(
    `\\b(?:env|xargs|find|nohup|timeout): ['"\\u2018]?(?:/[^\\s:]{0,200}/)?${name}['"\\u2019]?: (?:No such file or directory|Permission denied)`,
    'g',
  ),
];
/** A command, or git itself, met what git runs. */
const gitKept =
  /\.git\/(?:branches|commondir|config|hooks|info|modules|remotes|worktrees)\b[^\n]{0,300}(?:Read-only file system|busy)|could not (?:write|lock) config file[^\n]{0,300}(?:Read-only|busy)/;
const readOnly =
  /Read-only file system|\bEROFS\b|can(?:no|')t (?:create|touch|remove|make|overwrite|open for writing)[^\n]{0,300}Permission denied/;
const masked =
  /(\.env[A-Za-z0-9._-]{0,60})['"\u2019]?: Permission denied|EACCES[^\n]{0,300}?(\.env[A-Za-z0-9._-]{0,60})/gi;
const unreached =
  /(?:resolve host(?: name)?|ENOTFOUND|EAI_AGAIN|unable to resolve|Failed to connect to)[: ]{1,2}['"]?([A-Za-z0-9][A-Za-z0-9.-]{0,252})/g;
const address = /https?:\/\/([A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::\d{1,5})?)/g;

/** Whether anything can be granted while a task runs: commands have to be held, and a shell has to be there that starts a further one. */
export function canAsk({ floor, commands }: Pick<TaskGrants, 'floor' | 'commands'>): boolean {
  return floor !== null && commands.includes('sh');
}

/** What one task was refused, each thing once. Texts of the model and of programs only point to it: what is said of them is checked. */
export class RefusedThings {
  readonly #question: RefusalQuestion;
  readonly #things = new Map<string, RefusedThing>();
  /** Commands and hosts that a person was asked about: what was refused or granted for the session is not asked about again. */
  readonly #settled = new Map<string, ApprovalOption | null>();
  /** Granted to the next command, by the person who looked at the refusal: that one is over. */
  readonly #granted = new Set<string>();
  #asked = 0;
  #egressRead = 0;

  constructor(question: RefusalQuestion) {
    this.#question = question;
  }

  get all(): readonly RefusedThing[] {
    return [...this.#things.values()];
  }

  /** Grants what is found missing here, one thing at a time, where `canAsk` says so. */
  get widening(): Widening {
    return {
      wanted: (call) => this.#wanted(call),
      wantsHost: (host) => this.#asked < maxAsked && !this.#settled.has(host) && isPublic(host),
      decided: (wanted, option) => {
        const [kind, what] = 'host' in wanted ? ['network', spelt(wanted.host)] : ['command', wanted.name];
        if (kind === 'network') this.#asked += 1;
        if (option === 'once') this.#granted.add(what);
        else this.#settled.set(what, option);
        if (option !== null) this.#things.delete(`${kind} ${what}`);
      },
    };
  }

  #wanted(call: EndedCommand): WantedCommand | null {
    const names = call.kind === 'unknown' ? [call.toolName] : call.kind === 'shell' ? unstartedIn(call) : [];
    const command = names.find((each) => this.#isMissing(each) && !this.#settled.has(each));
    if (command === undefined || this.#asked >= maxAsked) return null;
    const found = findProgram(command, this.#question.searchPath);
    if (found.kind !== 'found') return null;
    this.#asked += 1;
    return { name: command, program: found.path };
  }

  /** Looks at a call that has ended. */
  note(activity: Activity): void {
    if (activity.kind === 'file-refused' && activity.file.rule === 'read-only') this.#readOnly();
    if (activity.kind !== 'call-ended') return;
    const { call, input } = activity;
    const asked = JSON.stringify(input ?? '')
      .slice(0, maxText)
      .replaceAll('\\n', '\n');
    if (call.kind === 'unknown') return this.#command(call.toolName, matches(address, asked));
    if (call.toolName === editor) return this.#masked(input);
    if (call.kind !== 'shell') return;
    const said = errorsOf(call.unfenced);
    for (const command of new Set(unstartedIn(call))) this.#command(command, hostsOf(command, asked));
    if (this.#meetsReadOnly(said)) this.#readOnly();
    if (this.#question.grants.keepsGit && gitKept.test(said))
      this.#add({ kind: 'write', what: '.git/hooks and .git/config', flag: '--write-git' });
    for (const file of matches(masked, said)) this.#add({ kind: 'file', what: file, flag: null });
    for (const host of matches(unreached, said)) this.#host(host);
  }

  /** Looks at what the way out of the session has refused. */
  readEgress(sessionDirectory: string): void {
    const text = egressLog(join(sessionDirectory, 'logs', 'egress.jsonl'));
    const fresh = text.slice(this.#egressRead);
    this.#egressRead = text.length;
    for (const [, destination = ''] of fresh.matchAll(/"destination":"([^"\\]{1,300})","verdict":"refused"/g)) {
      if (parseDestination(destination).kind === 'destination') this.#host(destination);
    }
  }

  /** A line each, for the report at the end. */
  lines(): Shown {
    return joined(this.all.map(line));
  }

  /** The same for a task of several: what comes after is of the next one. */
  takeLines(): Shown {
    const lines = this.lines();
    this.#things.clear();
    return lines;
  }

  /** What `--host-read` opens is read only whatever is granted besides. */
  #meetsReadOnly(said: string): boolean {
    const { reads } = this.#question.grants;
    const named = (line: string): readonly string[] => line.split(/[\s'"`:,\u2018\u2019]+/);
    return said
      .split('\n')
      .some(
        (line) =>
          readOnly.test(line) &&
          !named(line).some((word) => word.startsWith('/') && reads.some((path) => isBeneath(path, word))),
      );
  }

  /** A search passes over masked files that nobody named: nothing is said of those. */
  #masked(input: unknown): void {
    const path = typeof input === 'object' && input !== null && 'path' in input ? input.path : null;
    const name = typeof path === 'string' ? path.slice(0, maxText).split('/').find(isMaskedName) : undefined;
    if (name !== undefined) this.#add({ kind: 'file', what: name.slice(0, 60), flag: null });
  }

  #readOnly(): void {
    const isReadOnly = this.#question.grants.folder === 'read';
    if (isReadOnly) this.#add({ kind: 'write', what: this.#question.folder, flag: '--write' });
  }

  #command(command: string, hosts: readonly string[]): void {
    const { grants, searchPath } = this.#question;
    // A call is noted after the person was asked about it.
    if (this.#granted.delete(command)) return;
    if (!this.#isMissing(command) || this.#settled.get(command) === 'session') return;
    if (findProgram(command, searchPath).kind !== 'found') return;
    if (grants.floor === null) return this.#add({ kind: 'command', what: command, flag: null });
    const missing = [...new Set(hosts)].filter((host) => !this.#isGranted(host));
    const net = missing.length === 0 ? '' : ` --net ${missing.slice(0, 4).join(',')}`;
    this.#add({ kind: 'command', what: command, flag: `--allow ${command}${net}` });
  }

  #isMissing(command: string): boolean {
    return new RegExp(`^${name}$`).test(command) && !this.#question.grants.commands.includes(command);
  }

  #host(host: string): void {
    if (this.#isGranted(host)) return;
    this.#add({ kind: 'network', what: host, flag: `--net ${host}` });
  }

  #isGranted(host: string): boolean {
    const { hosts } = this.#question.grants;
    const isSettled = this.#settled.get(spelt(host)) === 'session';
    return isSettled || hosts.includes(host) || !/[.:]/.test(host) || parseDestination(host).kind !== 'destination';
  }

  #add(thing: RefusedThing): void {
    const key = `${thing.kind} ${thing.what}`;
    const known = this.#things.get(key);
    // The call that names a host too says more.
    if (known === undefined ? this.#things.size < maxThings : (thing.flag ?? '').length > (known.flag ?? '').length)
      this.#things.set(key, thing);
  }
}

/** As `--net` takes it, without the usual port. */
function spelt(host: string): string {
  const reading = parseDestination(host);
  return reading.kind === 'destination' ? formatDestination(reading.destination) : host;
}

/** A name of the public network, or an address there. Of any other place `--net` alone says that it is meant. */
function isPublic(text: string): boolean {
  const reading = parseDestination(text);
  if (reading.kind !== 'destination') return false;
  const { host } = reading.destination;
  const fixed = fixedAddresses(host);
  if (fixed !== undefined) return fixed.every((each) => classifyAddress(each) === 'public');
  return /\.(?!local(?:host)?$|internal$)[a-z0-9-]+$/.test(host);
}

function line({ kind, what, flag }: RefusedThing): Shown {
  const why = kind === 'command' && flag === null ? 'no class of this host holds commands' : reasons[kind];
  return flag === null ? say`refused: ${what} (${why})\n` : say`refused: ${what} (${why}): ${flag}\n`;
}

const reasons = {
  call: 'denied',
  command: 'not allowed',
  network: 'no network there',
  write: 'read only',
  file: 'masked, and no flag shows it',
} as const satisfies Readonly<Record<RefusedThing['kind'], string>>;

/** What a command wrote to standard error, by the form of results of commands. */
function errorsOf(result: string): string {
  const at = result.lastIndexOf('\nstderr:');
  return at < 0 ? '' : result.slice(at, at + maxText);
}

type EndedCommand = Pick<DispatchedCall, 'kind' | 'toolName' | 'unfenced'>;

/** The commands that were not found or could not be started. */
function unstartedIn({ unfenced }: Pick<EndedCommand, 'unfenced'>): readonly string[] {
  const said = errorsOf(unfenced);
  return unstarted.flatMap((pattern) => matches(pattern, said));
}

/** The addresses that stand behind a command in a script, up to its next command. */
function hostsOf(command: string, script: string): readonly string[] {
  const at = script.indexOf(command);
  return at < 0 ? [] : matches(address, /^[^|;&\n]*/.exec(script.slice(at))?.[0] ?? '');
}

function matches(pattern: RegExp, text: string): readonly string[] {
  return [...text.matchAll(pattern)].map(([, first, second]) => first ?? second ?? '').filter((each) => each !== '');
}

function egressLog(file: string): string {
  return unlessErrno(['ENOENT'], () => readFileUpTo(file, largestLog)?.toString('utf8') ?? '', '');
}
