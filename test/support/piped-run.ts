/** Runs svc as scripts do. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { classWarning } from './svc-process.ts';
import type { Workspace } from './workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

export interface PipedEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface PipedOptions {
  /** What comes through its standard input, which is a pipe then; without it that is /dev/null. */
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  /** Called once it has been started. */
  readonly meanwhile?: (pid: number) => Promise<void>;
}

/** Runs `svc` to its end as a script does: nothing of it is a terminal. A manifest that lies in the workspace is trusted, as its author does. */
export async function pipedSvc(
  workspace: Workspace,
  args: readonly string[],
  { input, env, meanwhile }: PipedOptions = {},
): Promise<PipedEnd> {
  const isFound = args[0]?.startsWith('-') === true && existsSync(join(workspace.folder, 'svc.yaml'));
  const child = spawn(process.execPath, [program, ...args, ...(isFound ? ['--trust'] : [])], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory', ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text));
  // It need not read everything.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  const closed = once(child, 'close');
  await meanwhile?.(child.pid ?? 0);
  const [code] = (await closed) as [number | null];
  return { code, stdout: said.stdout, stderr: said.stderr.replace(classWarning, '') };
}
