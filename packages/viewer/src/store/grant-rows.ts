/** Sets what a session was granted against what it used: from both follows what could be taken away. */

import type { GrantedScope, SessionStart } from '../messages.ts';
import { flags, isCall, kinds } from '../trace/kinds.ts';
import type { Columns } from './columns.ts';

export interface GrantRow {
  readonly kind: string;
  readonly what: string;
  /** What of the manifest asked for it: a section, and a word in it. */
  readonly asked: { readonly section: string; readonly value: string } | null;
  /** Null where a trace does not record the use of such a grant. */
  readonly use: Use | null;
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
    for (let row = 0; row < count; row += 1) {
      const kind = columns.kindOf(row);
      const bits = columns.flagsOf(row);
      if (kind === kinds.egress) hasConnections = true;
      if ((bits & flags.refused) !== 0) this.#refused(columns, row);
      // It names what was asked for, whichever kind of grant that would need.
      if (kind === kinds.refusal)
        for (const group of ['command', 'tool', 'connection']) this.#count(columns, row, group);
      const group = groupOf(kind);
      if (group !== null) this.#count(columns, row, group);
    }
    this.hasConnections = hasConnections;
  }

  #count(columns: Columns, row: number, group: string): void {
    const [kind, bits] = [columns.kindOf(row), columns.flagsOf(row)];
    const use = this.of(group, columns.nameOf(row));
    if ((bits & flags.refused) !== 0) use.refused += 1;
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

function groupOf(kind: number): string | null {
  if (kind === kinds.command) return 'command';
  if (kind === kinds.child) return 'child';
  if (kind === kinds.egress) return 'connection';
  if (kind === kinds.planStep) return 'plan';
  return isCall(kind) ? 'tool' : null;
}

/** A row for everything that was granted. */
export function grantRows(
  { grants, tools, achieved }: SessionStart,
  uses: Uses,
  hasEvidence = false,
): readonly GrantRow[] {
  // Where nothing holds programs to hosts, nobody sees where they connect.
  const seesConnections = uses.hasConnections || (hasEvidence && achieved !== 'advisory');
  const asked = (section: string, value: string): GrantRow['asked'] => ({ section, value });
  return [
    ...grants.shell.map((name) => ({
      kind: 'Command',
      what: name,
      asked: asked('shell', name),
      use: uses.of('command', name),
    })),
    ...fileRows(grants, uses),
    ...grants.network.map((place) => ({
      kind: 'Network',
      what: place,
      asked: asked('network', place.replace(/:\d+$/, '')),
      use: seesConnections ? uses.of('connection', place) : null,
    })),
    ...grants.spawn.map((name) => ({
      kind: 'Child',
      what: name,
      asked: asked('spawn', name),
      use: uses.of('child', name.replace(/@.*$/, '')),
    })),
    ...grants.env.map((name) => ({ kind: 'Variable', what: name, asked: asked('env', name), use: null })),
    ...flagRows(grants, uses),
    ...toolRows(grants, tools, uses),
  ];
}

function fileRows({ preopens, filesystemScope, projectFolder }: GrantedScope, uses: Uses): readonly GrantRow[] {
  const folder: readonly GrantRow[] =
    projectFolder === null
      ? []
      : [
          {
            kind: 'Project folder',
            what: `${projectFolder.path}, ${projectFolder.isWritable ? 'read and write' : 'read'}`,
            asked: null,
            use: null,
          },
        ];
  const scope: readonly GrantRow[] =
    filesystemScope === null
      ? []
      : [
          {
            kind: 'Files',
            what: `${filesystemScope} of the workdir alone`,
            asked: { section: 'filesystem', value: filesystemScope },
            use: null,
          },
        ];
  return [
    ...folder,
    ...scope,
    ...preopens.map(({ artifact, runtime, path, isWritable, stores }) => {
      const reach =
        path === null
          ? 'no files'
          : `${path === '.' ? 'the workdir' : path}, ${isWritable ? 'read and write' : 'read'}`;
      const held = stores.length === 0 ? '' : `; state: ${stores.join(', ')}`;
      return {
        kind: `Files of the ${runtime === '' ? 'artifact' : runtime}`,
        what: `${artifact}: ${reach}${held}`,
        asked: { section: 'artifacts', value: artifact },
        use: runtime === 'tool' ? uses.of('tool', artifact) : null,
      };
    }),
  ];
}

function flagRows(grants: GrantedScope, uses: Uses): readonly GrantRow[] {
  const rows: GrantRow[] = [];
  if (grants.hasWorkdirExec)
    rows.push({
      kind: 'Programs',
      what: 'those that the agent writes may run',
      asked: { section: 'filesystem', value: 'workdir_exec' },
      use: null,
    });
  if (grants.hasUnixSockets)
    rows.push({
      kind: 'Sockets',
      what: 'UNIX sockets of the host',
      asked: { section: 'network', value: 'unix_sockets' },
      use: null,
    });
  if (grants.hasPlanSubmit)
    rows.push({
      kind: 'Plans',
      what: 'several calls at once',
      asked: { section: 'plan', value: 'submit' },
      use: uses.of('tool', 'submit-plan'),
    });
  return rows;
}

/** Tools of servers and of the runtime, which see no files. */
function toolRows({ preopens, shell }: GrantedScope, tools: readonly string[], uses: Uses): readonly GrantRow[] {
  const known = new Set([...preopens.map(({ artifact }) => artifact), ...shell, 'submit-plan']);
  return tools
    .filter((name) => !known.has(name))
    .map((name) => ({
      kind: 'Tool',
      what: name,
      asked: { section: 'artifacts', value: name },
      use: uses.of('tool', name),
    }));
}

/** The line of a manifest that asks for something: the first one with this word behind the start of its section. Null where there is none. */
export function manifestLine(
  manifest: string,
  { section, value }: { readonly section: string; readonly value: string },
): number | null {
  const lines = manifest.slice(0, 200_000).split('\n');
  const start = lines.findIndex((line) => new RegExp(`^\\s*(?:- )?${section}\\s*:`).test(line));
  if (start === -1) return null;
  const found = lines.findIndex((line, index) => index >= start && holdsWord(line, value));
  return found === -1 ? null : found + 1;
}

function holdsWord(line: string, word: string): boolean {
  for (let at = line.indexOf(word); at !== -1; at = line.indexOf(word, at + 1)) {
    const [before, after] = [line[at - 1] ?? ' ', line[at + word.length] ?? ' '];
    if (!/[\w-]/.test(before) && !/[\w-]/.test(after)) return true;
  }
  return false;
}
