/** Sets what a session was granted against what it used: from both follows what could be taken away. */

import type { Granted } from '@svc/protocol/viewed-session.ts';
import * as kinds from '@svc/protocol/row-kinds.ts';
import { isCall, isPlanStep } from '@svc/protocol/row-kinds.ts';
import * as flags from '@svc/protocol/row-flags.ts';
import type { Columns } from './columns.ts';
import { tellsAgain } from './told-again.ts';

export interface GrantRow {
  readonly kind: string;
  readonly what: string;
  /** The line of the manifest that asks for it; null if unknown. */
  readonly line: number | null;
  /** Is null if a trace does not record the use of such a grant. */
  readonly use: Use | null;
  /** Whether a command that was called may have started it: no trace records that. */
  readonly isOpen: boolean;
}

export interface Use {
  used: number;
  failed: number;
  refused: number;
  /** The first row; -1 without one. */
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
const maxNames = 20_000;

/** Counts once over all rows, by kind and name. */
export class Uses {
  readonly #counts = new Map<string, Use>();
  readonly #refusals = new Map<string, { name: string; detail: string; count: number; row: number }>();
  /** Whether the trace records connections. */
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
    if (this.#counts.size < maxNames) this.#counts.set(key, use);
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

/** What was used of each grant; null where a trace does not record it. `seesConnections`: somebody sees where programs connect. */
export function grantRows({ rows }: Granted, uses: Uses, seesConnections: boolean): readonly GrantRow[] {
  const hasCalled = rows.some(({ use }) => use?.[0] === 'command' && uses.of(...use).used > 0);
  return rows.map(({ kind, what, line, use }) => ({
    kind,
    what,
    line,
    use: use === null || (use[0] === 'connection' && !seesConnections) ? null : uses.of(...use),
    isOpen: use?.[0] === 'command' && hasCalled,
  }));
}
