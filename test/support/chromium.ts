/** Starts the browser of this machine. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { onTestFinished } from 'vitest';

/** The Chromium of this machine; `undefined` where it has none. */
export const chromium = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);

/** Starts Chromium with a profile of its own; the end of the test ends all its processes and removes the profile. */
export function startChromium(args: readonly string[]): ChildProcess {
  const profile = mkdtempSync(join(tmpdir(), 'svc-browser-'));
  // The tests may run as root, where Chromium has no sandbox of its own.
  const usual = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`];
  // A group of its own: the helpers of a browser outlive it for a moment, and write into the profile.
  const browser = spawn(chromium ?? '', [...usual, ...args], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  onTestFinished(async () => {
    if (browser.pid !== undefined) await endGroup(browser.pid);
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  });
  return browser;
}

async function endGroup(leader: number): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    try {
      process.kill(-leader, 'SIGKILL');
    } catch {
      // Nobody is left in it.
      return;
    }
    await delay(20);
  }
}
