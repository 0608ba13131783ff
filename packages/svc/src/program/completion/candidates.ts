/** Finds what the values of arguments may be, from directories and short files. */

import { opendirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { isArtifactName, isExactVersion } from '@svc/artifacts/manifest/names.ts';
import { findPackageRoot } from '@svc/kit/files/package-root.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { LineFile } from '@svc/record/journal/line-file.ts';
import { suffixOf } from '@svc/record/sessions/session-names.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';

/** A value, and what there is to say of it on one short line. */
export interface Candidate {
  readonly value: string;
  readonly about: string;
}

export interface Question {
  readonly context: CommandContext;
  /** How the word at the cursor begins. */
  readonly typed: string;
  readonly session: string;
}

/** Limit for names in a folder. */
const maxNames = 2000;
const maxSessions = 200;
/** The task's text is looked for in the first part of a trace. */
const tracePart = 1024 * 1024;
const maxAbout = 60;

/** Gives none for an unknown kind: a script may be of another version. */
export async function candidatesOf(kind: string, question: Question): Promise<readonly Candidate[]> {
  switch (kind) {
    case 'session':
      return sessions(question, [...running(question), ...recorded(question)]);
    case 'running':
      return sessions(question, running(question));
    case 'task':
      return tasks(question);
    case 'code': {
      const { catalogue } = await import('@svc/kit/diagnostics/catalogue.ts');
      return Object.entries(catalogue).map(([value, { title }]) => ({ value, about: shortened(title) }));
    }
    case 'artifact':
      return stored(question, (name, version) => `${name}@${version}`);
    case 'capsule':
      return stored(question, (name) => name);
    default:
      return [];
  }
}

interface NamedSession {
  readonly id: string;
  readonly about: string;
  readonly atMs: number;
}

function running({ context }: Question): readonly NamedSession[] {
  return records(context).map(({ session_id: id, name, version, started_at_ms: atMs }) => ({
    id,
    about: `${name} ${version}, running`,
    atMs,
  }));
}

function records({ home }: CommandContext): readonly RunningRecord[] {
  return unlessRefused(() => readRunningRecords(home), []);
}

function recorded({ context }: Question): readonly NamedSession[] {
  const folder = join(context.cwd, '.svc', 'sessions');
  return namesIn(folder)
    .filter(isSessionId)
    .map((id) => ({ id, about: '', atMs: unlessRefused(() => statSync(join(folder, id)).mtimeMs, 0) }));
}

/** Offers the ends of ids, as people name them, unless the whole id is being typed. */
function sessions({ typed }: Question, found: readonly NamedSession[]): readonly Candidate[] {
  const known = new Map<string, NamedSession>();
  for (const each of found) if (!known.has(each.id)) known.set(each.id, each);
  const newest = [...known.values()].toSorted((a, b) => b.atMs - a.atMs).slice(0, maxSessions);
  const ids = newest.map(({ id }) => id);
  return newest.map(({ id, about }) => ({
    value: typed.startsWith('ses_') ? id : suffixOf(id, ids),
    about: shortened(about),
  }));
}

const taskReceived = /^\{"event_type":"task_received"/;

/** Tasks of the session that was named before; without one of the newest that runs. */
function tasks({ context, session }: Question): readonly Candidate[] {
  const ends = (id: string): boolean => session !== '' && id.endsWith(session.replace(/^\u2026/, ''));
  const own = records(context);
  const record = own.find(({ session_id: id }) => ends(id)) ?? (session === '' ? own[0] : undefined);
  const folder = join(context.cwd, '.svc', 'sessions');
  const id = record?.session_id ?? namesIn(folder).filter(isSessionId).find(ends);
  if (id === undefined) return [];
  const directory = record?.session_directory ?? join(folder, id);
  const found = tracedTasks(dirname(directory), basename(directory));
  const ids = found.map(({ value }) => value);
  return found.map(({ value, about }) => ({ value: suffixOf(value, ids), about }));
}

function tracedTasks(folder: string, id: string): readonly Candidate[] {
  return readTrace(folder, id)
    .split('\n')
    .filter((line) => taskReceived.test(line))
    .flatMap((line) => {
      const { task_id: task, text } = objectOf(line);
      return typeof task === 'string' ? [{ value: task, about: typeof text === 'string' ? shortened(text) : '' }] : [];
    });
}

/** The beginning of a trace, through no link; empty without a trace. */
function readTrace(folder: string, id: string): string {
  const session = unlessRefused(() => {
    const sessions = HeldDirectory.at(folder);
    try {
      return sessions.enter(id);
    } finally {
      sessions.close();
    }
  }, null);
  if (session === null) return '';
  const found = unlessRefused(() => session.openFile('trace.jsonl'), null);
  session.close();
  if (found?.kind !== 'file') return '';
  const file = new LineFile(found.fd);
  try {
    return file.readAt(0, tracePart).toString('utf8');
  } finally {
    file.close();
  }
}

function objectOf(line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    // The last line of that part.
    return {};
  }
}

/** Names and versions are those of folders, whose archives are not looked into. */
function stored({ context }: Question, spell: (name: string, version: string) => string): readonly Candidate[] {
  const places = [
    [join(context.cwd, '.svc', 'artifacts'), 'project'],
    [join(context.home, '.svc', 'artifacts'), 'user'],
    [join(findPackageRoot(import.meta.filename), 'dist', 'bundled'), 'bundled'],
  ] as const;
  const found = new Map<string, Candidate>();
  for (const [root, about] of places) {
    for (const name of namesIn(root).filter(isArtifactName)) {
      for (const version of namesIn(join(root, name)).filter(isExactVersion)) {
        const value = spell(name, version);
        if (!found.has(value)) found.set(value, { value, about });
      }
    }
  }
  return [...found.values()].toSorted((a, b) => (a.value < b.value ? -1 : 1));
}

function namesIn(folder: string): readonly string[] {
  const directory = unlessRefused(() => opendirSync(folder), null);
  if (directory === null) return [];
  const names: string[] = [];
  try {
    for (let entry = directory.readSync(); entry !== null && names.length < maxNames; entry = directory.readSync()) {
      names.push(entry.name);
    }
  } finally {
    directory.closeSync();
  }
  return names;
}

function shortened(text: string): string {
  return inertLine(text, maxAbout);
}
