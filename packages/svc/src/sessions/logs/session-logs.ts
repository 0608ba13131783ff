/** Finds the logs of a session: what each is called, who wrote it, and in which step. */

import { closeSync, fstatSync, opendirSync, statSync } from 'node:fs';

import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { notOwn, openOwn } from '@svc/record/journal/line-file.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';

/**
 * Who wrote a log: a command of the shell grant, an MCP server, a native tool, the programs behind the driver, a hook, or the proxy that all
 * connections of a sealed session pass.
 */
export type LogSource = 'command' | 'mcp' | 'tool' | 'driver' | 'hook' | 'egress';

/** What the name of a log says. */
export interface LogName {
  readonly file: string;
  readonly source: LogSource;
  /** The command, `<server>__<tool>` for an answer, else the server, the tool or the hook; null for the driver and the proxy. */
  readonly name: string | null;
  /** `answer` of a server, `output` of a hook, which is both of its streams. */
  readonly output: 'stdout' | 'stderr' | 'answer' | 'output' | 'decisions';
  /** The commands of a session are counted, and so are the long answers of each server; null for anything else. */
  readonly call: number | null;
}

/** A log as `svc logs --list --json` writes it. */
export interface SessionLog extends LogName {
  /** The step that wrote it; null where the journal does not say. */
  readonly step: number | null;
  readonly bytes: number;
  /** Time of the last write, in Unix milliseconds. */
  readonly modified_at_ms: number;
}

const logsFolder = 'logs';
/** A session writes at most 256 MiB of logs, and few are shorter than 16 KiB. */
const maxLogs = 20_000;

/** Returns null for a file that `svc` has not named. */
function parseLogName(file: string): LogName | null {
  if (file === 'egress.jsonl') return { file, source: 'egress', name: null, output: 'decisions', call: null };
  const [, call, command, output] = /^([1-9]\d{0,8})-(.{1,200})-(stdout|stderr)\.log$/s.exec(file) ?? [];
  if (command !== undefined) {
    return { file, source: 'command', name: command, output: output as 'stdout' | 'stderr', call: Number(call) };
  }
  const [, answer, tool] = /^mcp-([1-9]\d{0,8})-(.{1,200})\.log$/s.exec(file) ?? [];
  if (tool !== undefined) return { file, source: 'mcp', name: tool, output: 'answer', call: Number(answer) };
  if (file === 'stderr-driver.log') return { file, source: 'driver', name: null, output: 'stderr', call: null };
  const [, owner, artifact] = /^stderr-(mcp|tool)-(.{1,200})\.log$/s.exec(file) ?? [];
  if (artifact !== undefined) {
    return { file, source: owner as 'mcp' | 'tool', name: artifact, output: 'stderr', call: null };
  }
  const [, hook] = /^hook-(.{1,200})\.log$/s.exec(file) ?? [];
  return hook === undefined ? null : { file, source: 'hook', name: hook, output: 'output', call: null };
}

/** The folder of the logs, which the caller closes; null without one. Throws `E-RUN-072` for a link, and for a folder of somebody else. */
export function openLogs(session: HeldDirectory): HeldDirectory | null {
  let logs: HeldDirectory;
  try {
    logs = session.enter(logsFolder);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw isObstacle(error) ? notOwn(`${logsFolder} is a link or a file`) : ioFault(error, 'cannot open the logs');
  }
  const { uid } = statSync(logs.path);
  if (thisUser() === null || uid === thisUser()) return logs;
  logs.close();
  throw notOwn(`${logsFolder} belongs to user ${uid}`);
}

/** Names of logs, in no order; `more` counts those beyond what is looked at. */
export function logNames(logs: HeldDirectory): { readonly names: readonly LogName[]; readonly more: number } {
  const names: LogName[] = [];
  let more = 0;
  const directory = opendirSync(logs.path);
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      const name = parseLogName(entry.name);
      if (name !== null && names.length < maxLogs) names.push(name);
      else if (name !== null) more += 1;
    }
  } finally {
    directory.closeSync();
  }
  return { names, more };
}

/** Size and time of a log; `E-RUN-072` for a link, and for a file of somebody else. Returns null when it has gone. */
export function measureLog(logs: HeldDirectory, file: string): Pick<SessionLog, 'bytes' | 'modified_at_ms'> | null {
  const fd = openOwn(logs, file, thisUser());
  if (fd === null) return null;
  try {
    const { size, mtimeMs } = fstatSync(fd);
    return { bytes: size, modified_at_ms: Math.floor(mtimeMs) };
  } finally {
    closeSync(fd);
  }
}

const sources: readonly LogSource[] = ['command', 'mcp', 'tool', 'driver', 'hook', 'egress'];

/** By step, logs without one last; then by who wrote it. */
export function inOrder(a: SessionLog, b: SessionLog): number {
  const step = (a.step ?? Infinity) - (b.step ?? Infinity);
  if (step !== 0 && !Number.isNaN(step)) return step;
  const source = sources.indexOf(a.source) - sources.indexOf(b.source);
  const call = (a.call ?? 0) - (b.call ?? 0);
  return source || call || (a.file < b.file ? -1 : 1) * (a.output === b.output ? 1 : a.output === 'stdout' ? -1 : 1);
}
