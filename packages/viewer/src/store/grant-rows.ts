/** Sets what a session was granted against what it used: from both follows what could be taken away. */

import type { SessionStart } from '../messages.ts';
import * as kinds from '../trace/kind-numbers.ts';
import { isCall, isPlanStep } from '../trace/kinds.ts';
import * as flags from '../trace/row-flags.ts';
import type { Columns } from './columns.ts';
import { tellsAgain } from './told-again.ts';

export interface GrantRow {
  readonly kind: string;
  readonly what: string;
  /** What of the manifest asked for it: a section, and a word in it. */
  readonly asked: readonly [section: string, value: string] | null;
  /** Null where a trace does not record the use of such a grant. */
  readonly use: Use | null;
  /** Whether a command that was called may have started it: no trace tells of that. */
  readonly isOpen: boolean;
}

export interface Use {
  used: number;
  failed: number;
  refused: number;
  /** The first row; -1 for none. */
  row: number;
  /** What its rows are called. */
  readonly name: string;
}

/** Refusals: what was tried and not let through. */
export interface Refusal {
  readonly name: string;
  readonly detail: string;
  readonly count: number;
  readonly row: number;
}

/** A model may call things by any number of names. */
const mostNames = 20_000;

/** Counts once over all rows, by kind and name. */
export class Uses {
  readonly #counts = new Map<string, Use>();
  readonly #refusals = new Map<string, { name: string; detail: string; count: number; row: number }>();
  /** Whether the trace tells of connections. */
  readonly hasConnections: boolean;

  constructor(columns: Columns, count: number) {
    let hasConnections = false;
    const isAgain = tellsAgain(columns);
    for (let row = 0; row < count; row += 1) {
      const kind = columns.kindOf(row);
      const bits = columns.flagsOf(row);
      if (kind === kinds.egress) hasConnections = true;
      if (isAgain(row)) continue;
      if ((bits & flags.refused) !== 0) this.#refused(columns, row);
      const group = groupOf(kind, bits);
      // It names what was asked for, whichever kind of grant that would need.
      if (kind === kinds.refusal) for (const each of ['command', 'tool', 'connection']) this.#count(columns, row, each);
      else if (group !== null) this.#count(columns, row, group);
    }
    this.hasConnections = hasConnections;
  }

  #count(columns: Columns, row: number, group: string, name = columns.nameOf(row)): void {
    const [kind, bits] = [columns.kindOf(row), columns.flagsOf(row)];
    const use = this.of(group, name);
    // Some grants of a host are for all of its ports.
    const host = group === 'connection' ? name.replace(/:\d+$/, '') : name;
    if (host !== name) this.#count(columns, row, group, host);
    if ((bits & flags.refused) !== 0) use.refused += 1;
    else if (isPlanStep(kind)) use.used += bits >> flags.tries;
    // The row of a host begins with how many connections there were; of a child it is one for its start and one for its end.
    else if (kind === kinds.egress) use.used += Number.parseInt(columns.detailOf(row), 10) || 1;
    else if (kind !== kinds.child || columns.detailOf(row).startsWith('started')) use.used += 1;
    if ((bits & (flags.failed | flags.exited)) !== 0) use.failed += 1;
    if (use.row === -1) use.row = row;
  }

  of(group: string, name: string): Use {
    const key = `${group} ${name}`;
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    const use: Use = { used: 0, failed: 0, refused: 0, row: -1, name };
    if (this.#counts.size < mostNames) this.#counts.set(key, use);
    return use;
  }

  get refusals(): readonly Refusal[] {
    return [...this.#refusals.values()].sort((a, b) => b.count - a.count);
  }

  #refused(columns: Columns, row: number): void {
    const [name, detail] = [columns.nameOf(row), columns.detailOf(row)];
    const key = `${name} ${detail}`;
    const known = this.#refusals.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#refusals.size < 500) this.#refusals.set(key, { name, detail, count: 1, row });
  }
}

function groupOf(kind: number, bits: number): string | null {
  if (isPlanStep(kind) && bits >> flags.tries === 0) return null;
  if (kind === kinds.command || kind === kinds.planCommand) return 'command';
  if (kind === kinds.child) return 'child';
  if (kind === kinds.egress) return 'connection';
  return isCall(kind) || kind === kinds.planStep ? 'tool' : null;
}

const planTool = 'submit-plan';

/** It takes something away. */
const narrows = 'read_only';

interface FlagRow extends Pick<GrantRow, 'kind' | 'what' | 'asked'> {
  /** The tool that comes with it, whose use is its use. */
  readonly tool: string | null;
}

/** What is granted or not, by its name in a scope. One that is not here is shown by that name. */
const flagRows: ReadonlyMap<string, FlagRow> = new Map([
  [
    'workdir_exec',
    {
      kind: 'Programs',
      what: 'those that the agent writes may run',
      asked: ['filesystem', 'workdir_exec'],
      tool: null,
    },
  ],
  [
    'unix_sockets',
    { kind: 'Sockets', what: 'UNIX sockets of the host', asked: ['network', 'unix_sockets'], tool: null },
  ],
  ['plan_submit', { kind: 'Plans', what: 'several calls at once', asked: ['plan', 'submit'], tool: planTool }],
]);

/** A row for everything that was granted. */
export function grantRows(
  { grants, tools, achieved }: SessionStart,
  uses: Uses,
  hasEvidence = false,
): readonly GrantRow[] {
  const { shell, network, spawn, env, preopens, filesystemScope, projectFolder } = grants;
  // Where nothing holds programs to hosts, nobody sees where they connect.
  const seesConnections = uses.hasConnections || (hasEvidence && achieved !== 'advisory');
  const hasCalled = shell.some((name) => uses.of('command', name).used > 0);
  const rows: GrantRow[] = [];
  const add = (kind: string, what: string, asked: GrantRow['asked'], use: Use | null = null): void =>
    void rows.push({ kind, what, asked, use, isOpen: kind === 'Command' && hasCalled });
  for (const name of shell) add('Command', name, ['shell', name], uses.of('command', name));
  if (projectFolder !== null)
    add('Project folder', `${projectFolder.path}, ${accessOf(projectFolder.isWritable)}`, null);
  if (filesystemScope !== null)
    add('Files', `${filesystemScope} of the workdir alone`, ['filesystem', filesystemScope]);
  for (const { artifact, runtime, path, isWritable, stores } of preopens) {
    const place = path === '.' ? 'the workdir' : path;
    const reach = place === null ? 'no files' : `${place}, ${accessOf(isWritable)}`;
    const held = stores.length === 0 ? '' : `; state: ${stores.join(', ')}`;
    const use = runtime === 'tool' ? uses.of('tool', artifact) : null;
    add(`Files of the ${runtime || 'artifact'}`, `${artifact}: ${reach}${held}`, ['artifacts', artifact], use);
  }
  for (const place of network) {
    const use = seesConnections ? uses.of('connection', addressOf(place)) : null;
    add('Network', place, ['network', place.replace(/:\d+$/, '')], use);
  }
  for (const name of spawn) add('Child', name, ['spawn', name], uses.of('child', name.replace(/@.*$/, '')));
  for (const name of env) add('Variable', name, ['env', name]);
  for (const flag of grants.flags) {
    if (flag === narrows) continue;
    const { kind, what, asked, tool } = flagRows.get(flag) ?? { kind: 'Grant', what: flag, asked: null, tool: null };
    add(kind, what, asked, tool === null ? null : uses.of('tool', tool));
  }
  // Tools of servers and of the runtime, which see no files.
  const known = new Set([...preopens.map(({ artifact }) => artifact), ...shell, planTool]);
  for (const name of tools) if (!known.has(name)) add('Tool', name, ['artifacts', name], uses.of('tool', name));
  return rows;
}

/** `host`, or `host:port`, as connections are counted: a grant with a scheme is for one port, written or not. */
function addressOf(place: string): string {
  const [, https, host = place, port] = /^http(s?):\/\/(.+?)(:\d+)?$/.exec(place) ?? [];
  return https === undefined ? place : host + (port ?? (https === '' ? ':80' : ':443'));
}

function accessOf(isWritable: boolean): string {
  return isWritable ? 'read and write' : 'read';
}

/** The line of a manifest that asks for something: the first one with this word behind the start of its section. Null where there is none. */
export function manifestLine(
  manifest: string,
  [section, value]: readonly [section: string, value: string],
): number | null {
  const lines = manifest.slice(0, 200_000).split('\n');
  const start = lines.findIndex((line) => new RegExp(`^\\s*(?:- )?${section}\\s*:`).test(line));
  if (start === -1) return null;
  const found = lines.findIndex((line, index) => index >= start && holdsWord(line, value));
  return found === -1 ? null : found + 1;
}

function holdsWord(line: string, word: string): boolean {
  return new RegExp(`(?<![\\w-])${word.replaceAll(/\W/g, '\\$&')}(?![\\w-])`).test(line);
}
