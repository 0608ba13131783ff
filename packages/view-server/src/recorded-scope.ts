/** Reads what a session was granted from the first line of its trace, which anybody may have written. */

import { flagKeys } from '@svc/artifacts/grants/flag-grants.ts';
import { listKeys } from '@svc/artifacts/grants/list-grants.ts';
import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { type Guard, isFlag, isListOf, isObjectOf, isOneOf, isText, orNothing, orNull } from '@svc/kit/guards.ts';
import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { notStopped } from './not-stopped.ts';

const maxNames = 1000;
const maxName = 4096;

const isName = (value: unknown): value is string => isText(value) && value.length <= maxName;

function isShortListOf<Item>(item: Guard<Item>): Guard<readonly Item[]> {
  const isList = isListOf(item);
  return (value): value is readonly Item[] => Array.isArray(value) && value.length <= maxNames && isList(value);
}

const isNames = isShortListOf(isName);

/** A trace of before a flag or a list was there does not name it. */
const flags = [...flagKeys('filesystem'), ...flagKeys('network')];
const noLists = Object.fromEntries(listKeys.map((key) => [key, []]));

/** What `notStopped` looks at. */
const isScope = isObjectOf({
  ...Object.fromEntries(flags.map((key) => [key, orNothing(isFlag)])),
  ...Object.fromEntries(listKeys.map((key) => [key, orNothing(isNames)])),
  containment: isObjectOf({ achieved: isOneOf(...containmentClasses), mechanism: isName }),
  filesystem_scope: orNull(isName),
  read_only: isFlag,
  preopens: isShortListOf(isObjectOf({ artifact: isName, runtime: isName, writable: isFlag })),
  network_allow: isNames,
  shell_allow: isNames,
  interpreter_runtime: isNames,
  staged_runtime: isNames,
  limits: isShortListOf(
    isObjectOf({ resource: isOneOf('processes', 'memory'), of: isOneOf('program', 'session'), held_by: isName }),
  ),
  proxied: orNothing(isShortListOf(isObjectOf({ host: isName, proxy: isName }))),
  project_folder: orNothing(isObjectOf({ writable: isFlag })),
});

/** What the report of the scope says is not stopped, from a line `session_start`; empty where it has no scope that can be read. */
export function notStoppedIn(line: string): readonly string[] {
  const scope = grantsIn(line);
  // It has all that is looked at; the rest of a scope is not.
  return isScope(scope) ? notStopped({ ...noLists, ...(scope as unknown as ScopeObject) }) : [];
}

function grantsIn(line: string): unknown {
  try {
    return (JSON.parse(line) as { readonly effective_grants?: unknown }).effective_grants;
  } catch {
    // No JSON: it grants nothing.
    return null;
  }
}
