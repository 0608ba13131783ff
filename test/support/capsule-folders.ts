/** Makes capsule folders for tests, and finds what sessions leave in them. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';

import { scriptCapsule, type ScriptCapsule } from './script-capsule.ts';
import type { Workspace } from './workspace.ts';

/** What a capsule without `--task` is given to do. */
export const taskFile = { 'task.md': 'Say that you are done.\n' };

/** A maker of capsule folders, which are gone after the test that made them. */
export function useCapsules(): (options?: ScriptCapsule) => Workspace {
  const workspaces: Workspace[] = [];
  afterEach(() => {
    for (const workspace of workspaces.splice(0)) workspace.remove();
  });
  return (options = {}) => {
    const workspace = scriptCapsule(options);
    workspaces.push(workspace);
    return workspace;
  };
}

export function tracePath(workspace: Workspace, sessionId: string): string {
  return join(workspace.folder, '.svc', 'sessions', sessionId, 'trace.jsonl');
}

/** The id of the one session that a capsule has had. */
export function onlySession(workspace: Workspace): string {
  const [session, ...others] = readdirSync(join(workspace.folder, 'workdir'));
  expect(others).toEqual([]);
  return session ?? '';
}
