/** Opens pages in the system's Chromium, and keeps what goes wrong in them. */

import { spawnSync } from 'node:child_process';

import { type Browser, chromium, type Page } from 'playwright-core';

const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
/** The path of a Chromium that starts; null without one. */
export const chromiumPath: string | null =
  names.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim()).find((path) => path !== '') ??
  null;

let browser: Browser | null = null;

/** The tests may run as root, where Chromium has no sandbox of its own. */
async function theBrowser(): Promise<Browser> {
  browser ??= await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'],
  });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = null;
}

export interface OpenPage {
  readonly page: Page;
  /** Errors of the console, errors that nothing caught, dialogs, and refusals of the policy. */
  readonly faults: string[];
  /** Requests to anywhere but this page's own origin. */
  readonly foreign: string[];
  readonly close: () => Promise<void>;
}

interface Wanted {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** `commit` leaves it to the caller to wait for what is shown. */
  readonly waitFor?: 'load' | 'commit';
}

export async function openPage(
  url: string,
  { scheme = 'light', width = 1440, height = 900, waitFor = 'load' }: Wanted = {},
): Promise<OpenPage> {
  const context = await (
    await theBrowser()
  ).newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const [faults, foreign]: [string[], string[]] = [[], []];
  const { origin, protocol } = new URL(url);
  page.on('console', (message) => {
    // An answer that is not 200 is for the page to show.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const asked = request.url();
    const isOwn = protocol === 'file:' ? asked.startsWith(url.replace(/#.*$/, '')) : new URL(asked).origin === origin;
    if (!isOwn && !asked.startsWith('blob:') && !asked.startsWith('data:')) foreign.push(asked.slice(0, 200));
  });
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  await page.goto(url, { waitUntil: waitFor });
  return { page, faults, foreign, close: async () => await context.close() };
}
