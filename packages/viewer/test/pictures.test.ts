import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { env } from 'node:process';
import { join } from 'node:path';

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { chromiumPath, closeBrowser, openPage } from './support/browser.ts';
import { makeSession } from './support/made-session.ts';
import { buildPage } from './support/page-document.ts';
import { StandInServer } from './support/stand-in-server.ts';

/** `VIEWER_PICTURES=docs/pictures npx vitest run packages/viewer/test/pictures.test.ts` takes those of docs/viewer.md anew, with pngquant to make them small. */
const folder = env['VIEWER_PICTURES'];
const maxBytes = 60_000;

const made = makeSession({ lines: 400 });
const other = makeSession({ lines: 400, id: 'ses_other', partsAt: 30 });
const files = new Map([
  ['out/result.txt', 'The last header is kept, whether or not a line feed follows it.\n'],
  ['src/parse/header.ts', 'export function parseHeaders(text: string): Header[] {}\n'],
]);
const difference = {
  a: 'One test fails: it expects three headers and finds two.',
  b: 'I go another way here.',
};
const parting = {
  said: [
    'They part at step 58, turn 12',
    'The model was asked the same and answered something else at /response/content/0/text.',
  ],
  parting: { steps: { a: 58, b: 58 }, difference },
} as const;

const tabs: readonly (readonly [tab: string, prepare: (page: Page) => Promise<void>])[] = [
  [
    'steps',
    async (page) => {
      await page.keyboard.press(']');
      await page.locator('.tools output.filtered').waitFor();
      if ((page.viewportSize()?.width ?? 0) > 1180) await page.locator('.step', { hasText: 'patch' }).first().click();
    },
  ],
  ['conversation', async (page) => await page.locator('.rule.end').waitFor()],
  ['grants', async (page) => await page.getByText('svc.yaml, line 13').first().waitFor()],
  ['files', async (page) => await page.locator('.leaf', { hasText: 'header.ts' }).click()],
];
const looks = (['light', 'dark'] as const).flatMap((scheme) => [
  { scheme, width: 1440, height: 900 },
  { scheme, width: 1024, height: 768 },
]);

describe.skipIf(chromiumPath === null || folder === undefined)(
  'pictures (skipped unless VIEWER_PICTURES names a folder)',
  { timeout: 120_000 },
  () => {
    beforeAll(async () => void (await buildPage()), 60_000);
    afterAll(closeBrowser);

    it.each(looks)('show each tab, $scheme and $width wide', async (look) => {
      const server = await new StandInServer(
        [
          { ...made, files },
          { ...other, row: { task: 'The same again.' } },
        ],
        parting,
      ).listen();
      onTestFinished(() => server.close());
      mkdirSync(folder ?? '', { recursive: true });
      const sizes: number[] = [];
      for (const [tab, prepare] of tabs) {
        const { page, close } = await openPage(server.url(made.id, `&tab=${tab}`), look);
        await page.locator('.tools output, .turn, .card, .leaf, select').first().waitFor();
        await prepare(page);
        await page.waitForLoadState('networkidle');
        await page.evaluate(async () => {
          await new Promise((resolve) => setTimeout(resolve, 500));
        });
        const file = join(folder ?? '', `viewer-${tab}-${look.width}-${look.scheme}.png`);
        await page.screenshot({ path: file });
        await close();
        // Few colours are enough for a page of few colours.
        spawnSync('pngquant', ['--force', '--speed', '1', '--nofs', '--ext', '.png', '56', file]);
        sizes.push(statSync(file).size);
      }
      expect(Math.max(...sizes)).toBeLessThan(maxBytes);
    });
  },
);
