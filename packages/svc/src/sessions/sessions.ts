/** The command `svc sessions`: lists running and ended sessions. */

import { basename, dirname } from 'node:path';
import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { realPath } from '@svc/kit/files/resolve-beneath.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { shownCount, shownMinute } from '@svc/kit/shown-values.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { capsuleCell, suffixOf } from '@svc/record/sessions/session-names.ts';
import {
  adhocSessions,
  holdSession,
  sessionIds,
  sessionsFolder,
  sessionsFolders,
  startOfSession,
  type WorkspaceOption,
} from '@svc/record/sessions/recorded-sessions.ts';
import { factsOf, type SessionFacts } from '@svc/record/sessions/session-facts.ts';
import { linesLeftOut } from '@svc/record/sessions/trace-events.ts';
import { approachCapsule, locateCapsule, tokenChoice } from '@svc/record/running/approach-capsule.ts';
import { hasOpenQuestion } from '@svc/record/running/open-question.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { ageOf } from '../command/age.ts';
import { manifestFlag, manifestHelp } from '../command/session-arguments.ts';

/** A session that runs elsewhere and under a version of `svc` that does not record its folder has no counts. */
type ListedSession = Omit<SessionFacts, 'tasks' | 'tokens' | 'unread_lines'> & {
  readonly tasks: number | null;
  readonly tokens: number | null;
  readonly unread_lines: number | null;
  /** Whether a question of it waits for an answer of a person. */
  readonly asks: boolean;
};

/** Goes on with a session that a person has chosen, and sets the exit code. */
type GoOn = (session: string, options: WorkspaceOption & { readonly isNamed: boolean }) => Promise<void>;

type Unasked = Omit<ListedSession, 'asks'>;

interface SessionsOptions extends WorkspaceOption {
  readonly all?: boolean;
  readonly failed?: boolean;
  readonly since?: string;
  readonly json?: boolean;
}

const columns: readonly Column[] = [
  { title: 'SESSION' },
  { title: 'CAPSULE', keeps: 8 },
  { title: 'STARTED', keeps: 10 },
  { title: 'STATUS' },
  { title: 'TASKS' },
  { title: 'TOKENS' },
  { title: 'TASK', keeps: 4 },
];

const maxShown = 20;
const failures: ReadonlySet<string> = new Set(['failed', 'trapped', 'crashed', 'not-started']);

/**
 * `svc sessions`: all that run as this user, and those of this workspace that have ended, newest first. On a terminal a person may choose one of them to go on
 * with.
 */
export function sessionsCommand(context: CommandContext, goOn: GoOn): Command {
  return new Command('sessions')
    .description('List running and ended sessions.')
    .option('--all', `list all of them, not the newest ${maxShown}`)
    .option('--failed', 'only those that failed, were trapped, crashed or never started')
    .option('--since <age>', 'only those that began within this time: 30m, 12h, 2d, 1w')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per line')
    .addHelpText('after', '\nExample:\n  svc sessions --failed --since 2d')
    .action(async (options: SessionsOptions, command: Command) => {
      const { listed: found, more } = sessionsFor(context, options);
      const listed = await Promise.all(
        found.map(async (each) =>
          Object.assign(each, { asks: each.status === 'running' && (await asks(each, context)) }),
        ),
      );
      let chosen: string | null = null;
      if (options.json === true) {
        for (const each of listed) context.stdout.write(jsonLine(each));
      } else if (listed.length > 0) {
        if (isOfOthers(listed, options, context)) {
          const none = more > 0 ? 'none of the newest is of this folder' : 'this folder has no session';
          context.stderr.write(say`${none}; these are of others\n`);
        }
        chosen = await shown(listed, context);
      } else {
        const which = options.failed === true || options.since !== undefined ? 'no such session' : 'no session';
        context.stderr.write(say`${which} runs or is recorded in ${sessionsFolder(context, options)}\n`);
      }
      if (more > 0 && chosen === null) context.stderr.write(say`up to ${more} older: svc sessions --all\n`);
      const isNamed = command.getOptionValueSource('manifest') === 'cli';
      if (chosen !== null) await goOn(chosen, { manifest: options.manifest, isNamed });
    });
}

/** Whether no session of the list is of this folder. Those of a workspace all are, whatever folder they were given. */
function isOfOthers(listed: readonly ListedSession[], options: SessionsOptions, context: CommandContext): boolean {
  if (sessionsFolder(context, options) !== adhocSessions(context)) return false;
  const here = realPath(context.cwd);
  return listed.every(({ folder }) => folder !== here);
}

/** Lists them; returns the id of the one that a person takes. */
async function shown(listed: readonly ListedSession[], context: CommandContext): Promise<string | null> {
  const ids = listed.map(({ session_id: id }) => id);
  const rows = listed.map((each) => rowOf(each, ids));
  const { stdout, cwd } = context;
  if (process.stdin.isTTY && stdout.terminal?.isPlain === false) {
    const { pickRow } = await import('./pick-session.ts');
    const here = realPath(cwd);
    const ofHere = listed.findIndex(({ folder }) => folder === here);
    const ended = listed.findIndex(({ status }) => status !== 'running');
    const taken = await pickRow(
      {
        table: (width) => renderTable(columns, rows, { columns: width }).text.trimEnd().split('\n'),
        count: rows.length,
        first: Math.max(0, ofHere === -1 ? ended : ofHere),
        hint: '  Enter goes on with it, arrow keys choose, Esc leaves',
      },
      context,
    );
    if (taken !== undefined) return taken === null ? null : (ids[taken] ?? null);
  }
  stdout.write(renderTable(columns, rows, stdout));
  return null;
}

/** A list does not wait for a capsule that hangs. */
const askMs = 1000;

async function asks({ session_id: id }: Unasked, context: CommandContext): Promise<boolean> {
  const choice = tokenChoice(context, { method: 'stream/watch', timeoutMs: askMs });
  return await hasOpenQuestion(async () => await approachCapsule(locateCapsule(context.home, id), choice), askMs);
}

interface Candidate {
  readonly id: string;
  readonly folder: string;
  readonly startedMs: number;
  readonly record: RunningRecord | null;
}

/** Reads only listed sessions whole; `more` counts what was not looked at. */
function sessionsFor(
  context: CommandContext,
  options: SessionsOptions,
): { readonly listed: readonly Unasked[]; readonly more: number } {
  const from = options.since === undefined ? 0 : systemClock.now() - ageOf('--since', options.since);
  const most = options.all === true ? Infinity : maxShown;
  const candidates = newestFirst(context, options).filter(({ startedMs }) => startedMs >= from);
  const listed: Unasked[] = [];
  for (const [index, candidate] of candidates.entries()) {
    if (listed.length >= most) return { listed, more: candidates.length - index };
    const facts = factsFor(candidate, context);
    if (facts === null || (options.failed === true && !failures.has(facts.status))) continue;
    listed.push(facts);
  }
  return { listed, more: 0 };
}

function newestFirst(context: CommandContext, options: SessionsOptions): readonly Candidate[] {
  const own = sessionsFolders(context, options);
  const folders = options.all === true ? [...own, adhocSessions(context)] : own;
  const recorded = new Map(folders.flatMap((folder) => sessionIds(folder).map((id) => [id, folder] as const)));
  const records = new Map<string, RunningRecord>(
    readRunningRecords(context.home).map((record) => [record.session_id, record]),
  );
  const ids = new Set<string>([...recorded.keys(), ...records.keys()]);
  return [...ids]
    .map((id) => {
      const record = records.get(id) ?? null;
      const directory = record?.session_directory ?? null;
      const usual = recorded.get(id) ?? own[0];
      const folder = directory === null || basename(directory) !== id ? usual : dirname(directory);
      return { id, folder, record, startedMs: record?.started_at_ms ?? startOfSession(folder, id) };
    })
    .toSorted((a, b) => b.startedMs - a.startedMs || (a.id < b.id ? 1 : -1));
}

/** Returns null for a session that cannot be read and does not run, and reports it on standard error. */
function factsFor({ id, folder, record }: Candidate, context: CommandContext): Unasked | null {
  try {
    const directory = holdSession(folder, id);
    try {
      const facts = factsOf(id, directory, record !== null);
      if (facts.unread_lines > 0) context.stderr.write(render([linesLeftOut(id, facts.unread_lines)], context));
      return facts;
    } finally {
      directory.close();
    }
  } catch (error) {
    if (!(error instanceof Diagnostic)) throw error;
    if (record !== null) return factsOfRecord(record);
    context.stderr.write(render([error], context));
    return null;
  }
}

function factsOfRecord(record: RunningRecord): Unasked {
  return {
    session_id: record.session_id,
    capsule: record.name,
    version: record.version,
    folder: record.project_folder ?? null,
    started_at_ms: record.started_at_ms,
    status: 'running',
    duration_ms: null,
    model: null,
    tasks: null,
    tokens: null,
    unread_lines: null,
    task: null,
    steps: null,
    journal: null,
    journal_removed_at_ms: null,
  };
}

function rowOf(facts: ListedSession, ids: readonly string[]): readonly string[] {
  return [
    `…${suffixOf(facts.session_id, ids)}`,
    capsuleCell(facts),
    facts.started_at_ms === null ? '-' : shownMinute(facts.started_at_ms),
    facts.asks ? 'waits for you' : facts.status,
    facts.tasks === null ? '-' : String(facts.tasks),
    facts.tokens === null ? '-' : shownCount(facts.tokens),
    facts.task ?? '-',
  ];
}
