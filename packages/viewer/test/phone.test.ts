import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { chromiumPath, closeBrowser, openPage } from './support/browser.ts';
import { makeSession } from './support/made-session.ts';
import { buildPage } from './support/page-document.ts';
import { StandInServer } from './support/stand-in-server.ts';

const made = makeSession({ lines: 400 });
const other = makeSession({ lines: 400, id: 'ses_other', partsAt: 30 });
const files = new Map([['out/result.txt', 'The last header is kept.\n']]);
const manyIds = Array.from({ length: 300 }, (_, at) => `ses_${String(at).padStart(4, '0')}`);

async function overflow(page: Page): Promise<number> {
  return await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

/** Each row in the document: its first line from the top of the rows, its height, and what its cells show. */
async function rowsOf(page: Page): Promise<readonly { at: number; height: number; cells: readonly string[] }[]> {
  return await page.evaluate(() => {
    const shown = (cell: Element): boolean => cell.getBoundingClientRect().height > 0;
    const top = document.querySelector('.list-all')?.getBoundingClientRect().top ?? 0;
    return [...document.querySelectorAll('.session-row')].map((row) => {
      const { top: at, height } = row.getBoundingClientRect();
      const isWithin = [...row.children].filter(shown).every((cell) => {
        const { top: from, bottom, right } = cell.getBoundingClientRect();
        return from >= at && bottom <= at + height && right <= innerWidth;
      });
      return {
        at: at - top,
        height,
        cells: isWithin
          ? [...row.children].filter(shown).map((cell) => cell.textContent.trim())
          : ['a cell sticks out'],
      };
    });
  });
}

describe.skipIf(chromiumPath === null)(
  'a page as wide as a phone (skipped without Chromium)',
  { timeout: 90_000 },
  () => {
    beforeAll(async () => void (await buildPage()), 60_000);
    afterAll(closeBrowser);

    it('shows model and start of each session in a second line, also far down in a list and after a turn', async () => {
      const model = 'claude-sonnet-4-5-with-a-name-that-is-long';
      const sessions = manyIds.map((id) => ({ id, trace: '', row: { capsule: id, model, task: 'Why '.repeat(40) } }));
      const server = await new StandInServer(sessions).listen();
      onTestFinished(() => server.close());
      const { page, close, faults } = await openPage(server.url(), { width: 390, height: 740 });
      onTestFinished(close);
      await page.locator('.session-row').first().waitFor();
      const [first] = await rowsOf(page);
      expect(first?.cells.slice(3, 5)).toEqual([model, expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/)]);
      await page.locator('.list').press('End');
      await page.locator('#sessions-299').waitFor();
      const far = await rowsOf(page);
      const top = far[0]?.at ?? 0;
      expect(far.map(({ at }) => at)).toEqual(far.map((_, index) => top + 56 * index));
      expect(far.at(-1)).toMatchObject({ at: 299 * 56, height: 56 });
      expect(await overflow(page)).toBe(0);
      await page.setViewportSize({ width: 740, height: 390 });
      await expect.poll(async () => (await rowsOf(page)).at(-1)?.at, { timeout: 20_000 }).toBe(299 * 36);
      await page.locator('#sessions-299[aria-selected=true]').waitFor();
      expect(faults).toEqual([]);
    });

    it.each([390, 360])('scrolls sideways on no tab, at a width of %i', async (width) => {
      const server = await new StandInServer([{ ...made, files }, other]).listen();
      onTestFinished(() => server.close());
      const { page, close } = await openPage(server.url(made.id), { width, height: 740 });
      onTestFinished(close);
      await page.locator('.step').first().waitFor();
      const wide: Record<string, number> = {};
      for (const [key, tab] of ['Steps', 'Conversation', 'Grants', 'Files', 'Compare'].entries()) {
        await page.keyboard.press(String(key + 1));
        await page.locator('[role=tab][aria-selected=true]', { hasText: tab }).waitFor();
        await page.locator('.tab-panel').waitFor();
        wide[tab] = await overflow(page);
      }
      await page.getByRole('button', { name: 'All sessions' }).click();
      await page.locator('.session-row').first().waitFor();
      wide['sessions'] = await overflow(page);
      expect(wide).toEqual({ Steps: 0, Conversation: 0, Grants: 0, Files: 0, Compare: 0, sessions: 0 });
    });
  },
);
