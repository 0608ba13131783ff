/** Starts the browser of this machine at an address with a secret in it, which no list of processes shows. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeScratch, removeScratch } from '@svc/kit/files/scratch-folder.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';

/** The program that opens a browser, by system; xdg-open elsewhere. */
const openers: Readonly<Record<string, string>> = { darwin: 'open' };
/** What starts a browser comes back by itself, or is the browser. */
const startMs = 5000;

/**
 * Has the browser load a file of this user alone that leads on to the address. The returned function removes the file: call it once the page
 * was loaded, or not any more. What starts the browser is waited for until `signal`. `W-RUN-142` when no browser could be started; nothing is left then.
 */
export async function openBrowser(url: string, { env, cwd }: CommandContext, signal: AbortSignal): Promise<() => void> {
  const folder = makeScratch(tmpdir(), 'svc-view-');
  const remove = (): void => removeScratch(folder);
  const path = join(folder, 'svc-view.html');
  try {
    writeFileSync(path, leadsTo(url), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    remove();
    throw ioFault(error, `cannot write ${path}`);
  }
  const opener = openers[process.platform] ?? 'xdg-open';
  const child = spawn(opener, [path], { cwd, env: { ...env }, detached: true, stdio: 'ignore' });
  child.unref();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), startMs);
  const over = AbortSignal.any([late.signal, signal]);
  try {
    const [code] = await once(child, 'exit', { signal: over });
    if (code !== 0) throw noBrowser(`${opener} ended with ${code ?? 'a signal'}`);
  } catch (error) {
    if (over.aborted) return remove;
    remove();
    throw error instanceof Diagnostic ? error : noBrowser(`${opener} cannot be started`);
  } finally {
    clearTimeout(timer);
  }
  return remove;
}

/** An address as a `URL` spells it has no other character that HTML would read otherwise. */
function leadsTo(url: string): string {
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url.replaceAll('&', '&amp;')}"><title>svc</title>\n`;
}

function noBrowser(why: string): Diagnostic {
  return new Diagnostic('W-RUN-142', `no browser was started: ${why}`, {
    hint: 'open the address that was printed',
  });
}
