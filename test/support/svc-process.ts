/** Starts svc, and sends requests to what it serves. */

import { fileURLToPath } from 'node:url';

import { type ProgramEnd, ProgramProcess } from './program-process.ts';
import type { Workspace } from './workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

export type SvcEnd = ProgramEnd;

export interface SvcOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Runs it as this user and group, which only root can. */
  readonly uid?: number;
  /** Which `node` runs it; the one of the tests when absent. */
  readonly node?: string;
  /** Keeps the warning that programs are not contained, which is about the host. */
  readonly tellsClass?: boolean;
}

/** What a test is not about must not depend on what its host can contain. Tests of containment take it back. */
const anyHost = { SVC_CONTAINMENT_CEILING: 'advisory' };

/** So it does not warn either that programs are contained no better. */
export const classWarning: RegExp = /^warning\[W-RUN-059\]: [^\n]*\n/m;

/** A running `svc`. */
export class SvcProcess extends ProgramProcess {
  constructor(workspace: Workspace, args: readonly string[], { cwd, env, uid, node, tellsClass }: SvcOptions = {}) {
    super(program, args, {
      cwd: cwd ?? workspace.folder,
      env: { PATH: process.env['PATH'], HOME: workspace.home, ...anyHost, ...env },
      ...(uid === undefined ? {} : { uid, gid: uid }),
      ...(node === undefined ? {} : { node }),
      ...(tellsClass === true ? {} : { unseen: classWarning }),
    });
  }
}

/** What `svc run --json` printed. */
export interface RunLine {
  readonly url: string;
  readonly pid: number;
  readonly session_id: string;
  readonly name: string;
  readonly version: string;
  readonly workdir: string;
}

/** Runs `svc` to its end. */
export async function svc(workspace: Workspace, args: readonly string[], options?: SvcOptions): Promise<SvcEnd> {
  return await new SvcProcess(workspace, args, options).ended;
}

/** Starts `svc run --json` and waits for its line. */
export async function startCapsule(
  workspace: Workspace,
  args: readonly string[] = [],
  options?: SvcOptions,
): Promise<{ process: SvcProcess; line: RunLine }> {
  const process = new SvcProcess(workspace, ['run', '--json', ...args], options);
  const [line] = await process.printed(/^.*\n/);
  return { process, line: JSON.parse(line) as RunLine };
}

/** One JSON-RPC call to a capsule; the whole answer. */
export async function rpc(url: string, method: string, params?: unknown): Promise<Record<string, unknown>> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) });
  const response = await fetch(`http://${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return (await response.json()) as Record<string, unknown>;
}

export interface RpcAnswer {
  readonly status: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data?: unknown };
}

/** As `rpc`, by a client that knows the methods of svc, and with a door token if it has one; the status too. */
export async function ask(url: string, method: string, params: unknown = {}, token?: string): Promise<RpcAnswer> {
  const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`http://${url}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'svc-events': '1', ...bearer },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

/** A message with one text part. */
export function message(text: string, contextId?: string): Record<string, unknown> {
  return {
    message: { messageId: 'm1', role: 'user', parts: [{ text }], ...(contextId === undefined ? {} : { contextId }) },
  };
}
