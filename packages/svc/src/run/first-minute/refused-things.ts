/** Finds out what a task was refused, and which flag would grant it. */

import { join } from 'node:path';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isMaskedName } from '@svc/kit/files/masked-names.ts';
import { readFileUpTo } from '@svc/kit/files/read-up-to.ts';
import { formatDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import { classifyAddress, fixedAddresses } from '@svc/kit/net/address-class.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessErrno } from '@svc/kit/files/unless-refused.ts';
import { findProgram } from '@svc/sandbox/find-program.ts';
import type { ApprovalOption } from '@svc/protocol/approval.ts';
import type { Wanted, WantedCommand, WantedWriting, Widening } from '@svc/session/approvals/wanted-grants.ts';
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
  /** Where it is, links resolved. */
  readonly path: string;
  /** Why commands cannot be let write in it, asked when they want to; null where they can. */
  readonly whyReadOnly: () => Diagnostic | null;
}

const maxThings = 20;
/** A task asks for no more things than that. */
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
/** The file of such a line: what it quotes, or else names from the root on. */
const quotedFile = /['"`\u2018]([^'"`\u2018\u2019]{1,4096})['"`\u2019]/g;
const rootedFile = /(?<=\s)(\/[^\s:]{1,4096})/g;
const readOnly =
  /Read-only file system|\bEROFS\b|can(?:no|')t (?:create|touch|remove|make|overwrite|open for writing)[^\n]{0,300}Permission denied/;
const masked =
  /(\.env[A-Za-z0-9._-]{0,60})['"\u2019]?: Permission denied|EACCES[^\n]{0,300}?(\.env[A-Za-z0-9._-]{0,60})/gi;
const unreached =
  /(?:resolve host(?: name)?|ENOTFOUND|EAI_AGAIN|unable to resolve|Failed to connect to)[: ]{1,2}['"]?([A-Za-z0-9][A-Za-z0-9.-]{0,252})/g;
const address = /https?:\/\/([A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::\d{1,5})?)/g;

/** A line of the proxy's log about a host, and in its reason that a granted one leads elsewhere than to the public network. */
const refusedHost = /"destination":"([^"\\]{1,300})","verdict":"refused"(?:,"reason":"((?:[^"\\]|\\.){0,1000})")?/g;
const beyondGrant = /at public addresses alone\.$/;

/** Whether anything can be granted while a task runs: commands have to be held, and a shell has to be there that starts a further one. */
export function canAsk({ floor, commands }: Pick<TaskGrants, 'floor' | 'commands'>): boolean {
  return floor !== null && commands.includes('sh');
}

/** What one task was refused, each thing once. Texts of the model and of programs only point to it: what is said of them is checked. */
export class RefusedThings {
  readonly #question: RefusalQuestion;
  readonly #things = new Map<string, RefusedThing>();
  /** What a person was asked about, writing by its folder: what was refused or granted for the session is not asked about again. */
  readonly #settled = new Map<string, ApprovalOption | null>();
  /** Granted to the next command, by the person who looked at the refusal: that one is over. */
  readonly #granted = new Set<string>();
  #asked = 0;
  #egressRead = 0;
  /** Whether the editor was refused a change of the folder in the call at hand. */
  #isEditRefused = false;
  /** Whether the next command may write there, as that was granted to it alone. */
  #mayWriteNext = false;
  /** Why writing there cannot be granted, once it was wanted. */
  #unheld: Diagnostic | null = null;

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
        if ('host' in wanted) this.#asked += 1;
        if ('write' in wanted) this.#mayWriteNext = option === 'once';
        const [kind, what, shown] = keysOf(wanted);
        if (option === 'once') this.#granted.add(what);
        else this.#settled.set(what, option);
        if (option !== null) this.#things.delete(`${kind} ${shown ?? this.#question.folder}`);
      },
    };
  }

  #wanted(call: EndedCommand): WantedCommand | WantedWriting | null {
    const wanted = this.#asked < maxAsked ? (this.#wantedCommand(call) ?? this.#wantedWriting(call)) : null;
    if (wanted !== null) this.#asked += 1;
    return wanted;
  }

  #wantedCommand(call: EndedCommand): WantedCommand | null {
    const names = call.kind === 'unknown' ? [call.toolName] : call.kind === 'shell' ? unstartedIn(call) : [];
    const isOpen = (each: string): boolean => !this.#settled.has(each) && !this.#granted.has(each);
    const command = names.find((each) => this.#isMissing(each) && isOpen(each));
    if (command === undefined) return null;
    const found = findProgram(command, this.#question.searchPath);
    return found.kind === 'found' ? { name: command, program: found.path } : null;
  }

  #wantedWriting(call: EndedCommand): WantedWriting | null {
    const { grants, path, whyReadOnly } = this.#question;
    const couldWrite = this.#mayWriteNext;
    if (call.kind === 'shell') this.#mayWriteNext = false;
    const meets =
      call.kind === 'shell' ? !couldWrite && this.#meetsReadOnly(errorsOf(call.unfenced)) : this.#isEditRefused;
    if (!meets || grants.folder !== 'read' || this.#settled.has(path) || this.#granted.has(path)) return null;
    this.#unheld = whyReadOnly();
    if (this.#unheld === null) return { write: path };
    this.#settled.set(path, null);
    this.#things.delete(`write ${this.#question.folder}`);
    this.#readOnly();
    return null;
  }

  /** Looks at a call that has ended. */
  note(activity: Activity): void {
    if (activity.kind === 'file-refused' && activity.file.rule === 'read-only') {
      this.#isEditRefused = /^\/?project\//.test(activity.file.path);
      this.#readOnly();
    }
    if (activity.kind !== 'call-ended') return;
    this.#noteEnded(activity);
    // The call was judged before it is noted: what was granted to the next one is about that.
    this.#granted.clear();
    this.#isEditRefused = false;
  }

  #noteEnded({ call, input }: Extract<Activity, { kind: 'call-ended' }>): void {
    const asked = JSON.stringify(input ?? '')
      .slice(0, maxText)
      .replaceAll('\\n', '\n');
    if (call.kind === 'unknown') return this.#command(call.toolName, matches(address, asked));
    if (call.toolName === editor) return this.#masked(input);
    if (call.kind !== 'shell') return;
    const said = errorsOf(call.unfenced);
    for (const command of new Set(unstartedIn(call))) this.#command(command, hostsOf(command, asked));
    if (this.#meetsReadOnly(said)) this.#readOnly();
    const { keepsGit, folder } = this.#question.grants;
    if ((keepsGit || folder === 'read') && gitKept.test(said))
      this.#add({ kind: 'write', what: '.git/hooks and .git/config', flag: '--write-git' });
    for (const file of matches(masked, said)) this.#add({ kind: 'file', what: file, flag: null });
    for (const host of matches(unreached, said)) this.#host(host);
  }

  /** Looks at what the way out of the session has refused. */
  readEgress(sessionDirectory: string): void {
    const text = egressLog(join(sessionDirectory, 'logs', 'egress.jsonl'));
    const fresh = text.slice(this.#egressRead);
    this.#egressRead = text.length;
    for (const [, destination = '', reason = ''] of fresh.matchAll(refusedHost)) {
      if (parseDestination(destination).kind === 'destination') this.#host(destination, beyondGrant.test(reason));
    }
  }

  /** A line each, for the report at the end. */
  lines(): Shown {
    return joined(this.all.map((each) => this.#line(each)));
  }

  /** The same for a task of several: what comes after is of the next one. */
  takeLines(): Shown {
    const lines = this.lines();
    this.#things.clear();
    this.#mayWriteNext = false;
    return lines;
  }

  #line({ kind, what, flag }: RefusedThing): Shown {
    if (kind === 'write' && flag === null && this.#unheld !== null)
      return say`refused: ${what} (read only, and it stays so: ${this.#unheld.code}: ${this.#unheld.message})\n`;
    const why = kind === 'command' && flag === null ? 'no class of this host holds commands' : reasons[kind];
    return flag === null ? say`refused: ${what} (${why})\n` : say`refused: ${what} (${why}): ${flag}\n`;
  }

  /** Nothing that is granted opens what is masked, what git runs, and other places than the folder. */
  #meetsReadOnly(said: string): boolean {
    return said.split('\n').some((line) => {
      if (!readOnly.test(line) || gitKept.test(line)) return false;
      const files = matches(line.search(quotedFile) < 0 ? rootedFile : quotedFile, line);
      return files.length === 0 || files.some((file) => this.#isOfFolder(file));
    });
  }

  /** Where the folder is `project/` of a workdir, commands see it there. */
  #isOfFolder(file: string): boolean {
    const { path } = this.#question;
    const place = isBeneath(path, file) ? file.slice(path.length) : /^.*\/project(\/.*|)$/.exec(file)?.[1];
    const inside = file.startsWith('/') ? place : file;
    return inside !== undefined && !/(?:^|\/)\.\.(?:\/|$)/.test(inside) && !inside.split('/').some(isMaskedName);
  }

  /** A search passes over masked files that nobody named: nothing is said of those. */
  #masked(input: unknown): void {
    const path = typeof input === 'object' && input !== null && 'path' in input ? input.path : null;
    const name = typeof path === 'string' ? path.slice(0, maxText).split('/').find(isMaskedName) : undefined;
    if (name !== undefined) this.#add({ kind: 'file', what: name.slice(0, 60), flag: null });
  }

  #readOnly(): void {
    const { grants, path, folder } = this.#question;
    if (grants.folder !== 'read' || this.#granted.has(path) || this.#settled.get(path) === 'session') return;
    this.#add({ kind: 'write', what: folder, flag: this.#unheld === null ? '--write' : null });
  }

  #command(command: string, hosts: readonly string[]): void {
    const { grants, searchPath } = this.#question;
    if (this.#granted.has(command) || !this.#isMissing(command) || this.#settled.get(command) === 'session') return;
    if (findProgram(command, searchPath).kind !== 'found') return;
    if (grants.floor === null) return this.#add({ kind: 'command', what: command, flag: null });
    const missing = [...new Set(hosts)].filter((host) => !this.#isGranted(host));
    const net = missing.length === 0 ? '' : ` --net ${missing.slice(0, 4).join(',')}`;
    this.#add({ kind: 'command', what: command, flag: `--allow ${command}${net}` });
  }

  #isMissing(command: string): boolean {
    return new RegExp(`^${name}$`).test(command) && !this.#question.grants.commands.includes(command);
  }

  /** `isBeyond`: what a person grants does not reach where its name leads. */
  #host(host: string, isBeyond = false): void {
    if (this.#isGranted(host, isBeyond)) return;
    this.#add({ kind: 'network', what: host, flag: `--net ${host}` });
  }

  #isGranted(host: string, isBeyond = false): boolean {
    const { hosts } = this.#question.grants;
    const isSettled = !isBeyond && this.#settled.get(spelt(host)) === 'session';
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

/** Its kind, by what it is settled, and how it is reported; a folder is reported by another name. */
function keysOf(wanted: Wanted): readonly [kind: RefusedThing['kind'], what: string, shown: string | null] {
  if ('write' in wanted) return ['write', wanted.write, null];
  const what = 'host' in wanted ? spelt(wanted.host) : wanted.name;
  return ['host' in wanted ? 'network' : 'command', what, what];
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
