/** What tests of chats on a terminal share. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { FirstMinute } from './first-minute.ts';
import type { TerminalProcess } from './terminal-process.ts';

/** The variables by which a chat without a manifest finds the model of a test. */
export function chatEnvironment(minute: FirstMinute): Readonly<Record<string, string>> {
  const { OLLAMA_HOST: host = '', SVC_MODEL: model = '' } = minute.environment({});
  return { OLLAMA_HOST: host, SVC_MODEL: model, SVC_CONTAINMENT_CEILING: 'sealed' };
}

/** Leaves a chat and stops its session. Returns the exit code. */
export async function stopped(chat: TerminalProcess): Promise<number | null> {
  chat.type('\u0004');
  await chat.shows(/k keep it running/);
  chat.type('s');
  return await chat.ended;
}

/** The records of the sessions that run in a home, as far as they were not taken away. */
export function runningIn(home: string): readonly { readonly pid: number; readonly session_id: string }[] {
  const folder = join(home, '.svc', 'running');
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names.map(
    (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { pid: number; session_id: string },
  );
}

/** Ends what a test leaves running. */
export function killRunning(home: string): void {
  for (const { pid } of runningIn(home)) execFileSync('kill', ['-9', String(pid)], { stdio: 'ignore' });
}
