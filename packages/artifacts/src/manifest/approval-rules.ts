/** What is wrong with the rules of `approvals`, beyond their shapes. */

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { quoted } from '@svc/kit/diagnostics/printable.ts';
import { parseHostRule } from '@svc/kit/keys/request-rules.ts';
import { formatDestination, parseDestination } from '@svc/kit/net/network-destination.ts';
import { isJsonObject } from '@svc/protocol/json-object.ts';
import { undecidedKeys, verdicts } from './approvals.ts';
import type { Findings } from './checked-document.ts';
import { serverToolName } from './chosen-tools.ts';
import { type Draft, type KeyPath, renderKeyPath } from './key-path.ts';
import { shells } from './names.ts';

/** Programs that run what their arguments say. */
const interpreters: ReadonlySet<string> = new Set([
  ...shells,
  ...wordsOf('awk bun busybox deno fish gawk lua mawk node perl php ruby sed tclsh'),
]);
const python = /^(?:python|pypy)[\d.]*$/;

/** Programs that start others by their arguments. */
const starters: ReadonlySet<string> = new Set(
  wordsOf(
    'cargo chroot docker env find git make nice nohup npm npx parallel pip pnpm rsync setsid ssh stdbuf sudo tar timeout uv vi vim watch xargs yarn',
  ),
);

/** Methods of HTTP without a hyphen (https://www.iana.org/assignments/http-methods), and four that caches and UPnP use. */
const methods = wordsOf(
  'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY ACL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR ' +
    'MKCOL MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PRI PROPFIND PROPPATCH REBIND REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE ' +
    'UPDATEREDIRECTREF NOTIFY PURGE SUBSCRIBE UNSUBSCRIBE',
);

function wordsOf(text: string): readonly string[] {
  return text.split(' ');
}

/** The rules of `approvals` that look at more than one key. Each problem is `E-APR-001`. */
export function checkApprovals(draft: Draft, findings: Findings): void {
  if (!draft.isBlock('approvals')) return;
  if (draft.at('inference', 'transport') === 'process') {
    findings.add('E-APR-001', 'approvals cannot stand beside inference.transport: process', {
      path: ['approvals'],
      part: 'key',
      hint: 'the program has tools of its own, whose calls svc does not see',
    });
  }
  let heldByWords = false;
  let heldByRequests = false;
  draft.list('approvals', 'rules').forEach((_, index) => {
    const path = ['approvals', 'rules', index];
    const given = verdicts.filter((verdict) => draft.has(...path, verdict));
    if (given.length !== 1 && draft.isBlock(...path)) {
      findings.add('E-APR-001', `${renderKeyPath(path)} must have one of ${verdicts.join(', ')}`, { path });
    }
    for (const verdict of given) {
      checkMatch(draft, [...path, verdict], findings);
      heldByWords ||= verdict !== 'allow' && draft.has(...path, verdict, 'command');
      heldByRequests ||= verdict !== 'allow' && draft.has(...path, verdict, 'request');
    }
  });
  if (!heldByWords || heldByRequests || (draft.at('approvals', 'default') ?? 'allow') !== 'allow') return;
  findings.add(
    'W-APR-002',
    'approvals.rules asks about commands or denies them by their words, and allows all others',
    {
      path: ['approvals', 'rules'],
      part: 'key',
      hint: 'the same can be done in other words: add a rule with request, which decides where it leaves this machine, or set approvals.default: ask and allow whole lines',
    },
  );
}

const subjects = ['tool', 'command', 'spawn', 'request'] as const;

function checkMatch(draft: Draft, path: KeyPath, findings: Findings): void {
  if (!draft.isBlock(...path)) return;
  const undecided = undecidedKeys.filter((key) => draft.has(...path, key));
  for (const key of undecided) {
    const message = `${renderKeyPath(path)}.${key} is refused: this version of svc cannot decide by it`;
    findings.add('E-APR-001', message, { path: [...path, key], part: 'key' });
  }
  if (undecided.length > 0) return;
  const given = subjects.filter((subject) => draft.has(...path, subject));
  const [subject] = given;
  if (subject === undefined || given.length > 1) {
    findings.add('E-APR-001', `${renderKeyPath(path)} must have one of ${subjects.join(', ')}`, { path });
    return;
  }
  const beside = (key: string, message: string): void => {
    if (draft.has(...path, key))
      findings.add('E-APR-001', `${renderKeyPath(path)}.${key} ${message}`, { path: [...path, key], part: 'key' });
  };
  const isOfPath = draft.has(...path, 'path');
  if (subject !== 'tool') {
    beside('args', 'needs tool beside it');
    beside('path', 'needs tool beside it: commands open their files themselves');
  }
  if (!isOfPath) beside('access', 'needs path beside it');
  if (subject === 'tool' && isOfPath) {
    beside('args', 'cannot stand beside path');
    checkName(
      draft,
      { path: [...path, 'tool'], names: ownToolNames(draft), where: 'the tools in artifacts' },
      findings,
    );
    const fault = pathPatternFault(draft.at(...path, 'path'));
    const hint = String(draft.at(...path, 'path')).startsWith('/')
      ? 'write it as config/**, with no / before it'
      : null;
    if (fault !== null)
      findings.add('E-APR-001', `${renderKeyPath(path)}.path ${fault}`, {
        path: [...path, 'path'],
        ...(hint === null ? {} : { hint }),
      });
  } else if (subject === 'tool')
    checkName(draft, { path: [...path, 'tool'], names: toolNames(draft), where: 'the tools of the capsule' }, findings);
  if (subject === 'spawn') {
    const names = textsOf(draft.list('capabilities', 'spawn', 'allow'));
    checkName(draft, { path: [...path, 'spawn'], names, where: 'capabilities.spawn.allow' }, findings);
  }
  if (subject === 'command') checkCommand(draft, [...path, 'command'], findings);
  if (subject === 'request') checkRequest(draft, [...path, 'request'], findings);
}

/** A host that is granted by its name alone is a tunnel, in which nobody sees a request. */
function checkRequest(draft: Draft, path: KeyPath, findings: Findings): void {
  const text = draft.at(...path);
  if (typeof text !== 'string' || text === '') return;
  const reading = parseHostRule(text);
  if (reading.kind === 'malformed') {
    findings.add('E-APR-001', `${renderKeyPath(path)} ${reading.reason}`, { path });
    return;
  }
  const { origin, method } = reading.rule;
  if (method !== '*' && !methods.includes(method)) {
    const hint = didYouMean(method, methods) ?? '* is any method';
    const message = `${renderKeyPath(path)} names the method ${method}, which HTTP does not have`;
    findings.add('E-APR-001', message, { path, hint });
    return;
  }
  if (boundOrigins(draft).includes(origin)) return;
  const message = `${renderKeyPath(path)} names ${origin}, which capabilities.network.allow does not hold to rules or a credential`;
  findings.add('E-APR-001', message, {
    path,
    hint: `write { host: "${origin}", rules: ["* /**"] } there: svc looks into the requests to such hosts alone`,
  });
}

function boundOrigins(draft: Draft): readonly string[] {
  const allow = ['capabilities', 'network', 'allow'] as const;
  return draft.list(...allow).flatMap((_, index) => {
    const at = [...allow, index];
    if (!draft.has(...at, 'rules') && !draft.has(...at, 'credential')) return [];
    const reading = parseDestination(String(draft.at(...at, 'host')));
    if (reading.kind === 'malformed' || reading.destination.scheme === null) return [];
    return [new URL(formatDestination(reading.destination)).origin];
  });
}

interface NamedThing {
  readonly path: KeyPath;
  readonly names: readonly string[];
  /** What holds the names. */
  readonly where: string;
}

function checkName(draft: Draft, { path, names, where }: NamedThing, findings: Findings): void {
  const name = draft.at(...path);
  if (typeof name !== 'string' || name === '' || names.includes(name)) return;
  const isCommand = draft.list('capabilities', 'shell', 'allow').includes(name);
  const hint = isCommand ? `command: [${name}, "**"] is for a command` : didYouMean(name, names);
  const message = `${renderKeyPath(path)} names ${quoted(name)}, which is not among ${where}`;
  findings.add('E-APR-001', message, { path, ...(hint === undefined ? {} : { hint }) });
}

/** Tools by their names, and by the artifacts that bring them. */
function toolNames(draft: Draft): readonly string[] {
  const names: string[] = [];
  draft.list('artifacts').forEach((_, index) => {
    const name = draft.at('artifacts', index, 'name');
    const runtime = draft.at('artifacts', index, 'runtime') ?? 'tool';
    if (typeof name !== 'string' || (runtime !== 'tool' && runtime !== 'skill')) return;
    names.push(name, ...shownTools(draft.list('artifacts', index, 'tools')).map((tool) => serverToolName(name, tool)));
  });
  if (draft.isBlock('exports', 'peer_files')) names.push('share-file');
  if (draft.list('capabilities', 'peer_fetch', 'allow').length > 0) names.push('fetch-peer-file');
  if (draft.list('capabilities', 'spawn', 'allow').length > 0) names.push('delegate-task');
  if (draft.at('capabilities', 'plan', 'submit') === true) names.push('submit-plan');
  return names;
}

/** The names of a list of tools under which the model knows them. What a `*` chooses has to be named beside it: rules compare whole names. */
function shownTools(items: readonly unknown[]): readonly string[] {
  const given = items.flatMap((item) => (isJsonObject(item) ? Object.entries(item) : []));
  const renamed = new Set(given.map(([tool]) => tool));
  const named = textsOf(items).filter((item) => !renamed.has(item) && !item.includes('*'));
  return [...named, ...textsOf(given.map(([, name]) => name))];
}

/** The names of the artifacts that are tools, which may be components. */
function ownToolNames(draft: Draft): readonly string[] {
  return draft.list('artifacts').flatMap((_, index) => {
    const name = draft.at('artifacts', index, 'name');
    return typeof name === 'string' && (draft.at('artifacts', index, 'runtime') ?? 'tool') === 'tool' ? [name] : [];
  });
}

/** What is wrong with the path of a rule, as a clause; null without a fault. */
function pathPatternFault(pattern: unknown): string | null {
  if (typeof pattern !== 'string' || pattern === '') return null;
  const segments = pattern.split('/');
  if (segments.some((segment) => ['', '.', '..'].includes(segment)))
    return 'must be a path below what the tool sees as /, without . and .., and without an empty segment';
  if (segments.some((segment) => segment.includes('*') && segment !== '*' && segment !== '**'))
    return 'must have "*" for one segment or "**" for any number of them, and no part of one';
  if (segments.some((segment, index) => segment === '**' && segments[index - 1] === '**')) return 'repeats "**"';
  return /\p{Cc}/u.test(pattern) ? 'has a control character' : null;
}

function textsOf(list: readonly unknown[]): readonly string[] {
  return list.filter((item) => typeof item === 'string');
}

function checkCommand(draft: Draft, path: KeyPath, findings: Findings): void {
  const words = textsOf(draft.list(...path));
  const add = (message: string, at: KeyPath = path): void => findings.add('E-APR-001', message, { path: at });
  words.forEach((word, index) => {
    const at = [...path, index];
    const isWild = word === '*' || word === '**';
    if (word === '**' && words[index - 1] === '**') add(`${renderKeyPath(at)} repeats "**"`, at);
    else if (!isWild && (word.includes('*') || word.split('|').includes(''))) {
      add(
        `${renderKeyPath(at)} must be a word, words with | between them, "*" for one word or "**" for any number`,
        at,
      );
    }
  });
  const [first = ''] = words;
  const programs = first.split('|');
  if (!first.includes('*')) checkPrograms(draft, { path: [...path, 0], programs }, findings);
  if (path.at(-2) !== 'allow') return;
  const isOpen = words.slice(1).some((word) => word.includes('*'));
  if (first.includes('*')) add(`${renderKeyPath(path)} would allow any program`);
  else if (isOpen && programs.some((program) => interpreters.has(program) || python.test(program))) {
    add(`${renderKeyPath(path)} would allow anything: ${quoted(first)} runs what its arguments say`);
  } else if (isOpen && programs.some((program) => starters.has(program))) warnOfStarter(words, path, findings);
}

/** With a shell, a line can start any program there is: a warning then, where the name looks like a slip. */
function checkPrograms(
  draft: Draft,
  { path, programs }: { readonly path: KeyPath; readonly programs: readonly string[] },
  findings: Findings,
): void {
  const allowed = textsOf(draft.list('capabilities', 'shell', 'allow'));
  const hasShell = allowed.some((name) => shells.has(name));
  // An `allow` of what is not there lets nothing through.
  if (hasShell && path.at(-3) === 'allow') return;
  for (const program of programs) {
    if (program === '' || allowed.includes(program)) continue;
    const message = `${renderKeyPath(path)} names ${quoted(program)}, which capabilities.shell.allow does not list`;
    const hint = didYouMean(program, allowed);
    if (hasShell && hint === undefined) continue;
    findings.add(hasShell ? 'W-APR-009' : 'E-APR-001', message, { path, ...(hint === undefined ? {} : { hint }) });
  }
}

/** `git status **` starts nothing of the arguments' choice as `git ** ` does with `-c`. */
function warnOfStarter([first = '', second = '']: readonly string[], path: KeyPath, findings: Findings): void {
  if (first === 'git' && !second.includes('*')) return;
  findings.add(
    'W-APR-001',
    `${renderKeyPath(path)} allows ${quoted(first)}, which starts other programs by its arguments`,
    {
      path,
      hint: 'allow whole lines of it',
    },
  );
}
