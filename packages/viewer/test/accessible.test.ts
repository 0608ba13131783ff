import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { chromiumPath, closeBrowser, openPage } from './support/browser.ts';
import { runningCapsule } from './support/running-capsule.ts';
import { makeSession } from './support/made-session.ts';
import { buildPage } from './support/page-document.ts';
import { StandInServer } from './support/stand-in-server.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const made = makeSession({ lines: 400 });
const other = makeSession({ lines: 400, id: 'ses_other', partsAt: 30 });
const files = new Map([['out/result.txt', 'The last header is kept.\n']]);
const parting = {
  said: ['They part at step 58, turn 12', 'The model was asked the same and answered something else at /response.'],
  parting: {
    steps: { a: 58, b: 58 },
    difference: { path: '/x', a: 'this', b: 'that' },
  },
} as const;

const looks = (['light', 'dark'] as const).flatMap((scheme) =>
  [1440, 1024, 360].map((width) => ({ scheme, width, height: width === 360 ? 740 : 900 })),
);

describe.skipIf(chromiumPath === null)('what axe finds (skipped without Chromium)', { timeout: 120_000 }, () => {
  beforeAll(async () => void (await buildPage()), 60_000);
  afterAll(closeBrowser);

  it.each(looks)('stays empty on any tab, $scheme and $width wide', async (look) => {
    const { trace, now } = runningCapsule();
    const server = await new StandInServer(
      [
        { ...made, files },
        other,
        { id: 'ses_live', trace, now, rpc: () => ({ result: {} }) },
        { id: 'ses_empty', trace: '', row: { capsule: 'empty' } },
      ],
      parting,
    ).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url(made.id), look);
    onTestFinished(close);
    const problems: string[] = [];
    const look_ = async (name: string): Promise<void> =>
      void problems.push(...(await violations(page)).map((text) => `${name}: ${text}`));
    await page.locator('.step').first().waitFor();
    await look_('steps');
    await page.locator('.step', { hasText: 'patch' }).first().click();
    await page.locator('.side .diff').waitFor();
    await page.getByRole('button', { name: 'Line of the trace' }).click();
    await look_('a chosen step');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await look_('keys');
    await page.keyboard.press('Escape');
    // Keys are the dialog's until it is gone.
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.keyboard.press('2');
    await page.locator('.call-head').first().click();
    await page.locator('.call-body').waitFor();
    await look_('conversation');
    await page.keyboard.press('3');
    await page.locator('.grants').waitFor();
    await look_('grants');
    await page.keyboard.press('4');
    await page.locator('.leaf').nth(2).click();
    await page.locator('.file .diff').first().waitFor();
    await look_('files');
    await page.keyboard.press('5');
    await page.locator('select').selectOption(other.id);
    await page.locator('.parting').waitFor();
    await look_('compare');
    await page.getByRole('button', { name: 'All sessions' }).click();
    await page.locator('.session-row').first().waitFor();
    await look_('sessions');
    await page.getByRole('row', { name: 'empty' }).click();
    await page.getByText('The trace has no line.').waitFor();
    await look_('nothing');
    await page.goto('about:blank');
    await page.goto(server.url('ses_live'));
    await page.locator('.banner').waitFor();
    await look_('a question');
    expect(problems).toEqual([]);
  });
});

async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(
          where: Document,
          options: object,
        ): Promise<{ violations: { id: string; nodes: { html: string; any: { message: string }[] }[] }[] }>;
      };
    };
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations.map(
      ({ id, nodes }) =>
        `${id} × ${nodes.length}: ${nodes[0]?.html.slice(0, 120)} ${nodes[0]?.any[0]?.message.slice(0, 160) ?? ''}`,
    );
  });
}
