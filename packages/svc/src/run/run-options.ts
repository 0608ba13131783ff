/** The options of `svc run`, and the command lines of it that need no parser. */

import { isAbsolute } from 'node:path';

import { captureLevels, type CaptureLevel } from '@svc/artifacts/manifest/capture-levels.ts';
import { containmentClasses, type ContainmentClass } from '@svc/protocol/containment-class.ts';
import type { NamedProject } from '@svc/capsule/launch/running-capsule.ts';
import { isListOf, isText } from '@svc/kit/guards.ts';
import { parseJsonObject } from '@svc/protocol/json-object.ts';
import { isSessionId, type SessionId } from '@svc/protocol/ids.ts';
import type { ScriptOptions } from './script/script-run.ts';

export interface RunOptions extends ScriptOptions {
  readonly plain?: boolean;
  readonly workdir?: string;
  readonly project?: string;
  /** What the capsule that delegates has: the path, and the rest as JSON. */
  readonly projectOfParent?: NamedProject;
  readonly writeGit?: boolean;
  readonly capsuleVersion?: string;
  /** The only archive of that capsule that may be run. */
  readonly capsuleSha256?: string;
  readonly bind: string;
  readonly envFile: boolean;
  readonly offline?: boolean;
  readonly containment?: ContainmentClass;
  readonly capture?: CaptureLevel;
  readonly captureCeiling?: CaptureLevel;
  readonly components?: boolean;
  readonly spawnedBy?: number;
  readonly sessionId?: SessionId;
  readonly stopWithin?: number;
  readonly forChat?: boolean;
  readonly continues?: SessionId;
}

/** What is meant where an option is not given. */
export const usualOptions = { manifest: './svc.yaml', bind: '127.0.0.1', envFile: true } as const;

/** An empty one, of an unset variable, would mean every address, or the current folder. */
export function isGiven(value: string): boolean {
  return value.trim() !== '';
}

export function isWholeNumber(value: string): boolean {
  return /^[1-9]\d{0,9}$/.test(value);
}

/** What an option that takes no value says. */
const flags: Readonly<Record<string, Partial<RunOptions>>> = {
  '--json': { json: true },
  '--offline': { offline: true },
  '--no-env-file': { envFile: false },
  '--write-git': { writeGit: true },
  '--spawn-approval-stdin': { spawnApprovalStdin: true },
  '--for-chat': { forChat: true },
};

/** What an option says with a value; undefined for one that the parser refuses. */
const withValue: Readonly<Record<string, (value: string) => Partial<RunOptions> | undefined>> = {
  // A folder stands for the manifest in it: the parser looks.
  '--manifest': (manifest) => (/\.ya?ml$/.test(manifest) ? { manifest } : undefined),
  '--task': (task) => ({ task }),
  '--workdir': (workdir) => ({ workdir }),
  '--project': (project) => (isGiven(project) ? { project } : undefined),
  '--project-of-parent': (value) => asProjectOfParent(value),
  '--bind': (bind) => (isGiven(bind) ? { bind } : undefined),
  '--containment': (value) => chosen(containmentClasses, value, (containment) => ({ containment })),
  '--capture': (value) => chosen(captureLevels, value, (capture) => ({ capture })),
  '--capture-ceiling': (value) => chosen(captureLevels, value, (captureCeiling) => ({ captureCeiling })),
  '--spawned-by': (value) => (isWholeNumber(value) ? { spawnedBy: Number(value) } : undefined),
  '--session-id': (sessionId) => (isSessionId(sessionId) ? { sessionId } : undefined),
  '--continues': (continues) => (isSessionId(continues) ? { continues } : undefined),
  '--stop-within': (value) => (isWholeNumber(value) ? { stopWithin: Number(value) } : undefined),
};

/** Written by the capsule that delegates, as JSON. Returns undefined for anything else. */
export function asProjectOfParent(value: string): Partial<RunOptions> | undefined {
  const { path, write, mask } = parseJsonObject(value) ?? {};
  if (typeof path !== 'string' || !isAbsolute(path) || typeof write !== 'boolean') return undefined;
  return isListOf(isText)(mask) ? { projectOfParent: { path, ofParent: { write, mask } } } : undefined;
}

function chosen<Choice extends string>(
  choices: readonly Choice[],
  value: string,
  say: (choice: Choice) => Partial<RunOptions>,
): Partial<RunOptions> | undefined {
  const choice = choices.find((each) => each === value);
  return choice === undefined ? undefined : say(choice);
}

/**
 * The options of a plain line, as programs write it: whole names, each at most once, values in words of their own that do not begin with a dash.
 * Returns null for every other line, good or bad, which then goes to the parser. A start loads the parser only then (docs/adr/start-and-bundle.md "What a
 * start does without").
 */
export function plainRunOptions(words: readonly string[]): RunOptions | null {
  const given = new Set<string>();
  const said: Partial<RunOptions>[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const name = words[at] ?? '';
    if (given.has(name)) return null;
    given.add(name);
    const one = Object.hasOwn(flags, name) ? flags[name] : valued(name, words[(at += 1)]);
    if (one === undefined) return null;
    said.push(one);
  }
  return Object.assign({}, usualOptions, ...said) as RunOptions;
}

function valued(name: string, value: string | undefined): Partial<RunOptions> | undefined {
  if (!Object.hasOwn(withValue, name) || value === undefined || value.startsWith('-')) return undefined;
  return withValue[name]?.(value);
}
