import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { chromiumPath, closeBrowser, type OpenPage, openPage } from './support/browser.ts';
import { attempts, hostileSession } from './support/hostile-session.ts';
import { buildPage, documentOf, elementsOf } from './support/page-document.ts';
import { StandInServer } from './support/stand-in-server.ts';

const tabs = ['Conversation', 'Grants', 'Files', 'Compare', 'Steps'];
const hostile = hostileSession();

describe.skipIf(chromiumPath === null)(
  'a session whose every text is an attempt (skipped without Chromium)',
  { timeout: 300_000 },
  () => {
    beforeAll(async () => void (await buildPage()), 60_000);
    afterAll(closeBrowser);

    it('stays text in the page that a server sends', async () => {
      const [first = ''] = attempts;
      const server = await new StandInServer(
        [
          {
            id: 'ses_hostile',
            ...hostile,
            files: new Map(attempts.filter((text) => text !== '').map((text) => [`out/${text.slice(0, 3000)}`, text])),
            row: { capsule: first, task: first, status: first },
            facts: { notes: attempts.slice(0, 20), notStopped: attempts.slice(0, 20) },
          },
          { id: first, trace: '', row: { capsule: null, task: null, tasks: 1e308, started_at_ms: 1e308 } },
        ],
        {
          said: [first, attempts[15] ?? ''],
          parting: { steps: { a: 1, b: 1e308 }, difference: { a: first, b: first } },
        },
      ).listen();
      onTestFinished(() => server.close());
      const opened = await openPage(server.url('ses_hostile'));
      onTestFinished(opened.close);
      await isOnlyShown(opened, { each: 1 });
      expect([opened.faults, opened.foreign]).toEqual([[], []]);
      await opened.page.getByRole('button', { name: 'All sessions' }).click();
      await opened.page.getByRole('row', { name: first }).first().waitFor();
      expect(await strangeElements(opened)).toEqual([]);
      expect([opened.faults, opened.foreign]).toEqual([[], []]);
    });

    it('stays text in an exported file opened from the disk', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-viewer-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const [first = ''] = attempts;
      const file = join(folder, 'export.html');
      const elements = await elementsOf(
        { id: 'ses_hostile', ...hostile },
        { notes: attempts.slice(0, 20), of: 'a later version', has: first },
      );
      writeFileSync(file, documentOf({ kind: 'exported', elements }).html);
      const opened = await openPage(pathToFileURL(file).href);
      onTestFinished(opened.close);
      // The code that draws rows is that of the page above.
      await isOnlyShown(opened, { each: 8 });
      expect([opened.faults, opened.foreign]).toEqual([[], []]);
    });
  },
);

/** Chooses rows all the way down, looks at each so-many-th screen of them, and at every tab. */
async function isOnlyShown(opened: OpenPage, { each }: { readonly each: number }): Promise<void> {
  const { page } = opened;
  await page
    .locator('.tools output', { hasText: `${hostile.rows.toLocaleString('en')} lines` })
    .waitFor({ timeout: 30_000 });
  await page.locator('#steps').focus();
  await page.keyboard.press('Home');
  const odd = new Set<string>();
  for (let screen = 0; screen * 19 < hostile.rows; screen += 1) {
    for (const key of ['PageDown', 'ArrowUp']) {
      await page.keyboard.press(key);
      if (screen % each !== 0) continue;
      await page.waitForFunction(() => document.querySelector('.side .note')?.textContent !== 'Reading…');
      for (const place of await oddPlaces(opened)) odd.add(place);
    }
    if (screen % each !== 0) continue;
    await page.getByRole('button', { name: 'Line of the trace' }).click();
    await page.locator('#steps').focus();
  }
  expect(await strangeElements(opened)).toEqual([]);
  for (const tab of tabs) {
    await page.getByRole('tab', { name: tab }).click();
    await page.locator('[role=tabpanel] *').first().waitFor();
    expect(await strangeElements(opened)).toEqual([]);
    for (const place of await oddPlaces(opened)) odd.add(place);
  }
  await page.getByRole('tab', { name: 'Conversation' }).click();
  for (let task = 0; task < 12; task += 1) {
    await page.keyboard.press(']');
    for (let card = 0; card < 3; card += 1) {
      const closed = page.locator('.call-head[aria-expanded=false]').first();
      if ((await closed.count()) > 0) await closed.click();
    }
  }
  expect(await strangeElements(opened)).toEqual([]);
  expect([...odd, ...(await oddPlaces(opened))]).toEqual([]);
  // The page still draws.
  await page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  });
}

/** Places of the document where a text of the session would hide, turn text around or choose a look: marks cannot stand in an attribute or a title. */
async function oddPlaces({ page }: OpenPage): Promise<readonly string[]> {
  return await page.evaluate(() => {
    const odd = /(?![\t\n])[\p{Cc}\p{Cs}\u00AD\u061C\u200B\u200E\u200F\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E0FFF}]/u;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found: string[] = odd.test(document.title) ? ['title'] : [];
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const { parentElement: parent } = text;
      if (parent?.closest('script') === null && odd.test(text.nodeValue ?? '')) found.push(parent.className);
    }
    for (const element of document.querySelectorAll('#app *'))
      for (const { name, value } of element.attributes) if (odd.test(value)) found.push(`${element.tagName} ${name}`);
    return [...new Set(found)];
  });
}

/** Elements that the page makes of no text. */
async function strangeElements({ page }: OpenPage): Promise<readonly string[]> {
  return await page.evaluate(() =>
    [
      ...document.querySelectorAll(
        '#app :is(img, script, iframe, svg, math, object, style, a, link, form, base, meta)',
      ),
    ].map((element) => element.outerHTML.slice(0, 200)),
  );
}
