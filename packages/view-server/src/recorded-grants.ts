/** Lists what a session was granted, from the first line of its trace, with the line of its manifest that asks for each. */

import { isFiniteNumber, type JsonObject, parseJsonObject } from '@svc/protocol/json-object.ts';
import type { Granted } from '@svc/protocol/viewed-session.ts';
import { shownBytes, shownCount } from '@svc/kit/shown-values.ts';
import { objectIn, textIn, textsIn } from './rows/checked.ts';

/** Limit for each list of a scope, which anybody may have written. */
const maxItems = 500;
const maxText = 300;
const maxManifest = 200_000;
const maxManifestLines = 5000;
/** Limit for all lists together. */
const maxRows = 1000;
/** Pairs of characters that are compared at most to find where the manifest asks for grants: behind them no line is named. */
const maxCompared = 200_000_000;
/** What it costs to look at a line, as so many pairs. */
const lineCost = 16;

/** A section of a manifest, and a word in it. */
type Asked = readonly [section: string, word: string];

/** What of the rows of a trace uses a grant. */
type UsedBy = Granted['rows'][number]['use'];

const planTool = 'submit-plan';

/** It takes something away. */
const narrows = 'read_only';

interface FlagRow {
  readonly kind: string;
  readonly what: string;
  readonly asked: Asked | null;
  readonly use: UsedBy;
}

/** What is granted or not, by its name in a scope. One that is not here is shown by that name. */
const flagRows: ReadonlyMap<string, FlagRow> = new Map([
  [
    'workdir_exec',
    { kind: 'Programs', what: 'those that the agent writes may run', asked: ['filesystem', 'workdir_exec'], use: null },
  ],
  [
    'unix_sockets',
    { kind: 'Sockets', what: 'UNIX sockets of the host', asked: ['network', 'unix_sockets'], use: null },
  ],
  ['plan_submit', { kind: 'Plans', what: 'several calls at once', asked: ['plan', 'submit'], use: ['tool', planTool] }],
]);

const listName = /^\w{1,50}_allow$/;
/** The lists that have rows in words of their own. Another is shown by its name. */
const listsInWords: ReadonlySet<string> = new Set(['network_allow', 'shell_allow', 'spawn_allow', 'env_allow']);

/** Reads a line `session_start`. What is missing or of another form is passed over; `manifest` is its text, '' where that is not known. */
export function grantedIn(line: string, manifest: string): Granted {
  const event = parseJsonObject(line) ?? {};
  const grants = objectIn(event['effective_grants']);
  const list = new GrantList(manifest.slice(0, maxManifest));
  const { path: folder, writable, is_workdir: isWorkdir, ...given } = objectIn(grants['project_folder']);
  const [scope] = namesIn([grants['filesystem_scope']]);
  const shell = namesIn(grants['shell_allow']);
  for (const name of shell) list.add('Command', name, ['shell', name], ['command', name]);
  if (typeof folder === 'string')
    list.add(
      isWorkdir === true ? 'Workdir' : 'Project folder',
      `${folder.slice(0, maxText)}, ${accessOf(writable)}`,
      null,
    );
  const repository = repositoryOf(given);
  if (repository !== null) list.add('Repository', repository, null);
  if (scope !== undefined) list.add('Files', `${scope} of the workdir alone`, ['filesystem', scope]);
  const rules = objectIn(grants['project_text']);
  for (const path of namesIn([rules['path']]))
    list.add('Rules of the folder', rulesOf(path, rules), ['project_text', path]);
  const preopens = objectsIn(grants['preopens']);
  for (const preopen of preopens) addPreopen(preopen, list);
  for (const place of namesIn(grants['network_allow']))
    list.add('Network', place, ['network', place.replace(/:\d+$/, '')], ['connection', addressOf(place)]);
  for (const { host, credential, rules } of objectsIn(grants['bound_hosts'])) {
    const [place = '', key] = namesIn([host, credential]);
    const held = [...(key === undefined ? [] : [`credential ${key}`]), ...namesIn(rules)].join(', ');
    list.add('Requests held', `${place}: ${held}`, ['network', place.replace(/:\d+$/, '')]);
  }
  for (const { name, for: subjects } of objectsIn(grants['credentials']))
    for (const each of namesIn([name]))
      list.add('Credential', `${each} for ${namesIn(subjects).join(', ')}`, ['credentials', each]);
  for (const name of namesIn(grants['spawn_allow']))
    list.add('Child', name, ['spawn', name], ['child', name.replace(/@.*$/, '')]);
  for (const path of namesIn(grants['host_read']))
    list.add('Files of the host', `${path}, ${accessOf(false)}`, ['filesystem', path]);
  for (const name of namesIn(grants['env_allow'])) list.add('Variable', name, ['env', name]);
  for (const name of namesIn(Object.keys(grants).filter((each) => listName.test(each))))
    if (!listsInWords.has(name)) for (const each of namesIn(grants[name])) list.add('Grant', `${name}: ${each}`, null);
  for (const flag of namesIn(Object.keys(grants).filter((name) => grants[name] === true))) {
    if (flag === narrows) continue;
    const { kind, what, asked, use } = flagRows.get(flag) ?? { kind: 'Grant', what: flag, asked: null, use: null };
    list.add(kind, what, asked, use);
  }
  // Tools of servers and of the runtime, which see no files.
  const known = new Set([...preopens.map(({ artifact }) => artifact), ...shell, planTool]);
  const renamed = new Map(Object.entries(objectIn(grants['renamed_tools'])));
  for (const name of namesIn(event['tools_declared'])) {
    if (known.has(name)) continue;
    const [own] = namesIn([renamed.get(name)]);
    const what = own === undefined ? name : `${name}, ${own} of its server`;
    list.add('Tool', what, ['artifacts', own ?? name], ['tool', name]);
  }
  return { rows: list.rows, limits: objectsIn(grants['limits']).map(limitOf) };
}

class GrantList {
  readonly #rows: Granted['rows'][number][] = [];
  readonly #manifest: readonly string[];
  /** Where sections start; -1 for one that does not. */
  readonly #starts = new Map<string, number>();
  #left = maxCompared;
  #more = 0;

  constructor(manifest: string) {
    this.#manifest = manifest.split('\n', maxManifestLines);
  }

  /** Where there are too many, the last says how many more. */
  get rows(): Granted['rows'] {
    if (this.#more === 0) return this.#rows;
    return [...this.#rows, { kind: 'Grant', what: `${shownCount(this.#more)} more`, line: null, use: null }];
  }

  add(kind: string, what: string, asked: Asked | null, use: UsedBy = null): void {
    if (this.#rows.length === maxRows) this.#more += 1;
    else this.#rows.push({ kind, what, line: asked === null ? null : this.#lineOf(asked), use });
  }

  /** The first line with this word behind the start of its section, from 1; null where no line has it. */
  #lineOf([section, word]: Asked): number | null {
    const start = this.#startOf(section);
    if (start === -1) return null;
    const pattern = new RegExp(`(?<![\\w-])${word.replaceAll(/\W/g, '\\$&')}(?![\\w-])`);
    for (const [index, line] of this.#manifest.slice(start).entries()) {
      this.#left -= lineCost + line.length * word.length;
      if (this.#left < 0) return null;
      if (line.includes(word) && pattern.test(line)) return start + index + 1;
    }
    return null;
  }

  #startOf(section: string): number {
    const known = this.#starts.get(section);
    if (known !== undefined) return known;
    const pattern = new RegExp(`^\\s*(?:- )?${section}\\s*:`);
    const start = this.#manifest.findIndex((line) => pattern.test(line));
    this.#starts.set(section, start);
    return start;
  }
}

/** Where git has the data of the folder from, or why it has none; null where that lies in the folder. */
function repositoryOf({ git, closed_git: closed }: JsonObject): string | null {
  const { path, writable, around } = objectIn(git);
  const { path: place, why } = objectIn(closed);
  if (place !== undefined) return `git does not work: ${textIn(place, maxText)} ${textIn(why, maxText)}`;
  if (path === undefined) return null;
  const names = typeof around === 'string' ? `; names of files in ${textIn(around, maxText)}` : '';
  return `${textIn(path, maxText)}, ${accessOf(writable)}${names}`;
}

/** What people of the folder wrote for agents, which stands before the task. */
function rulesOf(path: string, { bytes, truncated }: JsonObject): string {
  const size = isFiniteNumber(bytes) ? `, ${shownBytes(bytes)}` : '';
  return `${path}${size}, fenced before the task${truncated === true ? ': its first 32 KiB' : ''}`;
}

function addPreopen(preopen: JsonObject, list: GrantList): void {
  const [artifact = '', runtime = 'artifact'] = namesIn([preopen['artifact'], preopen['runtime']]);
  const { path, writable } = preopen;
  const place = path === '.' ? 'the workdir' : typeof path === 'string' ? path.slice(0, maxText) : null;
  const [stores, runs] = [namesIn(preopen['state']), namesIn(preopen['runs'])];
  const reach = place === null ? 'no files' : `${place}, ${accessOf(writable)}`;
  const held = `${stores.length === 0 ? '' : `; state: ${stores.join(', ')}`}${runs.length === 0 ? '' : `; runs: ${runs.join(', ')}`}`;
  const use = runtime === 'tool' ? (['tool', artifact] as const) : null;
  list.add(`Files of the ${runtime}`, `${artifact}: ${reach}${held}`, ['artifacts', artifact], use);
}

/** `host`, or `host:port`, as connections are counted: a grant with a scheme is for one port, written or not. */
function addressOf(place: string): string {
  const [, https, host = place, port] = /^http(s?):\/\/(.+?)(:\d+)?$/.exec(place) ?? [];
  return https === undefined ? place : host + (port ?? (https === '' ? ':80' : ':443'));
}

function accessOf(writable: unknown): string {
  return writable === true ? 'read and write' : 'read';
}

/** One line for people. */
function limitOf({ resource, of, max, held_by: heldBy }: JsonObject): string {
  const [what = '', whose = '', how = ''] = [resource, of, heldBy].map((each) => namesIn([each])[0]);
  if (!isFiniteNumber(max)) return `${what} of a ${whose}: no limit`;
  return `${what} of a ${whose}: ${what === 'memory' ? sizeOf(max) : shownCount(max)}, held by ${how}`;
}

function sizeOf(bytes: number): string {
  return bytes < 1e9 ? shownBytes(bytes) : `${(bytes / 1e9).toFixed(1)} GB`;
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return (Array.isArray(value) ? value.slice(0, maxItems) : []).map(objectIn);
}

/** The texts of a list that are not empty. */
function namesIn(value: unknown): readonly string[] {
  return textsIn(value, maxItems, maxText).filter((each) => each !== '');
}
