import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { ViewedComparison } from '@svc/protocol/viewed-session.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { chromiumPath, closeBrowser, type OpenPage, openPage } from './support/browser.ts';
import { makeSession } from './support/made-session.ts';
import { buildPage, documentOf, elementsOf } from './support/page-document.ts';
import { type StandInSession, StandInServer } from './support/stand-in-server.ts';

const made = makeSession({ lines: 400 });
const other = makeSession({ lines: 400, id: 'ses_other', partsAt: 30 });
const child: StandInSession = { ...makeSession({ lines: 30, seed: 7 }), id: made.childIds[0] ?? '' };
const files = new Map<string, string | Buffer>([
  ['out/result.txt', 'The last header is kept.\n'],
  [
    'out/picture.png',
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
  ],
]);
const parting: ViewedComparison = {
  said: ['They part at step 58, turn 12', 'The model was asked the same and answered something else at /response.'],
  parting: { steps: { a: 58, b: 58 }, difference: { a: 'this way', b: 'that way' } },
};

async function opened(more = '', size: { readonly width?: number; readonly height?: number } = {}): Promise<OpenPage> {
  const server = await new StandInServer([{ ...made, files }, other, child], parting).listen();
  onTestFinished(() => server.close());
  const page = await openPage(server.url(made.id, more), size);
  onTestFinished(page.close);
  await page.page.locator('.step, .block, .card, .leaf, select').first().waitFor();
  return page;
}

const chosenName = async (page: Page): Promise<string> => (await page.locator('.side h2 .theirs').textContent()) ?? '';
const tab = async (page: Page): Promise<string> =>
  (await page.locator('[role=tab][aria-selected=true]').textContent()) ?? '';

describe.skipIf(chromiumPath === null)('the page of a session (skipped without Chromium)', { timeout: 60_000 }, () => {
  beforeAll(async () => void (await buildPage()), 60_000);
  afterAll(closeBrowser);

  it('takes its token out of the address and sends it with every request', async () => {
    const { page, faults, foreign } = await opened();
    expect(new URL(page.url()).hash).toBe(`#session=${made.id}`);
    expect(
      await page.evaluate(() => JSON.stringify([localStorage.length, sessionStorage.length, document.cookie])),
    ).toBe('[0,1,""]');
    expect([faults, foreign]).toEqual([[], []]);
  });

  it('stays where it is when it is loaded again, and goes back to the list and to where a link has led away', async () => {
    const { page, faults } = await opened('&tab=grants');
    await page.reload();
    await page.locator('.grants').waitFor();
    expect(new URL(page.url()).hash).toBe(`#session=${made.id}&tab=grants`);
    await page.getByRole('button', { name: 'All sessions' }).click();
    await page.getByRole('searchbox').fill('ses_other');
    await page.locator('output', { hasText: '1 of 3 sessions' }).waitFor();
    await page.locator('.session-row').click();
    await page.locator('.step').first().waitFor();
    await page.goBack();
    await page.locator('output', { hasText: '1 of 3 sessions' }).waitFor();
    await page.reload();
    await page.locator('output', { hasText: '3 sessions' }).waitFor();
    await page.goto('about:blank');
    await page.goBack();
    await page.locator('.session-row').first().waitFor();
    await page.goBack();
    await page.locator('.grants').waitFor();
    expect(faults).toEqual([]);
  });

  it('keeps its token for one tab alone', async () => {
    const { page } = await opened();
    const other = await page.context().newPage();
    await other.goto(new URL(page.url()).origin);
    await other.getByRole('heading', { name: 'This page has no token' }).waitFor();
    expect(await other.evaluate(() => sessionStorage.length)).toBe(0);
  });

  it('has as many failed steps in its head as under its filter and in its summary, each thing once', async () => {
    const line = (type: string, at: number, fields: object): string =>
      JSON.stringify({ event_type: type, event_id: `evt_${at}`, timestamp: at, task_id: 'tsk_1', ...fields });
    const trace = [
      line('session_start', 1, { capsule: { name: 'x', version: '1' } }),
      line('task_received', 2, { text: 'Do it.' }),
      ...[10, 20, 30].flatMap((at) => [
        line('refusal', at, { what: 'command', name: 'ls', rule: 'input_schema', by: 'svc' }),
        line('shell', at + 1, { command_name: 'ls', is_error: true, duration_ms: 1 }),
      ]),
      line('shell', 40, { command_name: 'make', exit_code: 2, duration_ms: 1 }),
    ];
    const server = await new StandInServer([{ id: 'ses_x', trace: `${trace.join('\n')}\n` }]).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url('ses_x'));
    onTestFinished(close);
    await expect.poll(() => page.locator('.side .picks b.bad').allTextContents()).toEqual(['3', '1']);
    await page.locator('.sum.bad').getByRole('button', { name: '4', exact: true }).click();
    await page.locator('.tools output', { hasText: '4 lines' }).waitFor();
  });

  it('lists sessions with model, folder and time, those that wait for a person first to see, and how many are not listed', async () => {
    const row = { capsule: 'task', folder: '/home/me/shop', model: 'large-2', duration_ms: 61_000 };
    const server = await new StandInServer(
      [
        { ...made, row },
        { ...other, row: { asks: true, status: 'running', duration_ms: null, started_at_ms: Date.now() - 120_000 } },
      ],
      null,
      498,
    ).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url());
    onTestFinished(close);
    const cells = page.locator('.session-row').first().getByRole('gridcell');
    await expect
      .poll(() => cells.allTextContents())
      .toEqual([
        'ok',
        'task shop',
        'The parser drops the last header when the file ends without a line feed.',
        'large-2',
        expect.stringMatching(/^20\d\d-/),
        '1 min 01 s',
        '3',
        '48.2 k',
        `…${made.id.slice(-4)}`,
      ]);
    expect(await cells.nth(1).getAttribute('title')).toBe('/home/me/shop');
    const second = page.locator('.session-row').nth(1).getByRole('gridcell');
    expect([await second.nth(0).textContent(), await second.nth(5).textContent()]).toEqual([
      'waits for you',
      expect.stringMatching(/^2 min 0\d s$/),
    ]);
    await page.locator('output', { hasText: '2 of 500 sessions' }).waitFor();
    expect(await page.title()).toBe('(1) Sessions · svc');
    await page.getByRole('button', { name: '1 waits for you' }).click();
    await expect.poll(() => page.locator('.session-row').count()).toBe(1);
    await page.locator('.session-row').click();
    await expect.poll(() => tab(page)).toBe('Conversation');
    await page.goBack();
    await page.getByRole('button', { name: '1 waits for you' }).click();
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByText('498 older ones are not listed.').waitFor();
  });

  it('says what is missing where there is no token, a wrong one, or no such session', async () => {
    const server = await new StandInServer([made]).listen();
    onTestFinished(() => server.close());
    const without = await openPage(`${server.origin}/`);
    onTestFinished(without.close);
    await without.page.getByRole('heading', { name: 'This page has no token' }).waitFor();
    const wrong = await openPage(`${server.origin}/#token=${'x'.repeat(43)}&session=${made.id}`);
    onTestFinished(wrong.close);
    await wrong.page.getByText('Open the address that was printed last.').waitFor();
    const none = await openPage(server.url('ses_none'));
    onTestFinished(none.close);
    await none.page.getByText('There is no such session.').waitFor();
    await none.page.getByRole('button', { name: 'All sessions' }).click();
    await none.page.locator('.session-row').waitFor();
    expect([without, wrong, none].flatMap(({ faults, foreign }) => faults.concat(foreign))).toEqual([]);
  });

  it('has room in its row of tabs for each control, in each width, with a task chosen', async () => {
    const { page } = await opened();
    await page.locator('.task').first().click();
    const row = page.locator('.tools');
    for (const width of [1440, 1320, 1280, 1190, 1024, 920, 760]) {
      await page.setViewportSize({ width, height: 740 });
      await expect
        .poll(async () => await row.evaluate((tools) => [innerWidth, tools.scrollWidth - tools.clientWidth]))
        .toEqual([width, 0]);
      const { width: taken = 0 } = (await page.locator('.chosen-task').boundingBox()) ?? {};
      expect([width, taken >= 80]).toEqual([width, true]);
      const { height = 0 } = (await row.boundingBox()) ?? {};
      expect([width, height < 50 || width < 1200]).toEqual([width, true]);
    }
  });

  it('shows the steps, and all of a chosen one', async () => {
    const { page } = await opened();
    await page.locator('.step', { hasText: 'patch' }).first().click();
    await page.locator('.side .diff .add').first().waitFor();
    expect(await page.locator('.side .diff .add').allTextContents()).toEqual([
      '+added:     if (line === undefined) {\n',
      "+added:       if (rest !== '') headers.push(parseHeader(rest));\n",
      '+added:       return headers;\n',
      '+added:     }\n',
    ]);
    await page.locator('.side').getByText('patched src/parse/header.ts').waitFor();
    expect(await page.locator('.side .facts').first().locator('dt, dd').allTextContents()).toEqual(
      expect.arrayContaining(['Step', '#3']),
    );
    await page.getByRole('button', { name: 'Line of the trace' }).click();
    await page.locator('.side').getByText('"event_type": "tool_call"').waitFor();
  });

  it('has the slowest steps in the order of the times that it shows of them', async () => {
    const call = (at: number, fields: object): string =>
      JSON.stringify({ event_id: `evt_${at}`, timestamp: at, task_id: 'tsk_1', ...fields });
    const trace = [
      call(1000, { event_type: 'task_received', text: 'Do it.' }),
      call(9000, { event_type: 'shell', command_name: 'sh', duration_ms: 1000 }),
      call(30_000, { event_type: 'task_input_required', prompt: 'Which?', outcome: 'answered', duration_ms: 13_800 }),
      call(30_100, { event_type: 'tool_call', tool_name: 'ask', duration_ms: 14_000 }),
    ];
    const server = await new StandInServer([{ id: 'ses_x', trace: `${trace.join('\n')}\n` }]).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url('ses_x'));
    onTestFinished(close);
    await expect
      .poll(() => page.locator('.side .picks').first().locator('b').allTextContents())
      .toEqual(['14 s', '1.0 s', '200 ms']);
  });

  it('keeps few rows in the document, wherever the list is', async () => {
    const { page } = await opened('', { width: 1440, height: 1080 });
    const rows = async (): Promise<number> => await page.locator('#steps [role=row]').count();
    expect(await rows()).toBeLessThanOrEqual(60);
    await page.locator('#steps').focus();
    await page.keyboard.press('End');
    await page.locator('.step', { hasText: 'session ok' }).waitFor();
    expect(await rows()).toBeLessThanOrEqual(60);
  });

  it('does everything by keyboard', async () => {
    const { page } = await opened();
    const steps = page.locator('.tools output');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => chosenName(page)).toBe('session');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => chosenName(page)).toBe('task');
    await page.keyboard.press('PageDown');
    await page.keyboard.press('End');
    await expect.poll(() => chosenName(page)).toBe('session ok');
    await page.keyboard.press('Home');
    await expect.poll(() => chosenName(page)).toBe('session');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Where the time went' }).waitFor();
    await page.keyboard.press('e');
    await page.locator('.tools output', { hasText: '13 lines' }).waitFor();
    await page.keyboard.press('e');
    await page.keyboard.press('/');
    await page.keyboard.type('frames.ts');
    await page.locator('.tools output.filtered').waitFor();
    await expect.poll(() => page.locator('.step .about').first().textContent()).toContain('frames.ts');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.locator('.tools output', { hasText: '400 lines' }).waitFor();
    await page.keyboard.press(']');
    await expect
      .poll(() => page.locator('.task[aria-pressed=true] .task-text').textContent())
      .toContain('The parser drops');
    await page.keyboard.press(']');
    await expect
      .poll(() => page.locator('.task[aria-pressed=true] .task-text').textContent())
      .toBe('Write a test for an empty body.');
    await page.keyboard.press('[');
    await expect.poll(() => steps.textContent()).toBe('12 lines');
    await page.keyboard.press('Escape');
    for (const [key, name] of [
      ['2', 'Conversation'],
      ['3', 'Grants'],
      ['4', 'Files'],
      ['5', 'Compare'],
      ['1', 'Steps'],
    ] as const) {
      await page.keyboard.press(key);
      await expect.poll(() => tab(page)).toBe(name);
    }
    await page.keyboard.press('+');
    await page.locator('.tools output.filtered').waitFor();
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('-');
    await page.keyboard.press('0');
    await page.locator('.tools output', { hasText: '400 lines' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    // The page hears of the end of a dialog a moment after the dialog is gone.
    await page.evaluate(() => {
      document.querySelector('dialog')?.close();
      dispatchEvent(new KeyboardEvent('keydown', { key: '3' }));
    });
    await page.locator('.grants').waitFor();
    await page.keyboard.press('1');
  });

  it('reaches every control with the tab key, and in the order of reading', async () => {
    const { page } = await opened();
    await page.locator('.side .picks button').first().waitFor();
    const order: string[] = [];
    for (let press = 0; press < 45; press += 1) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate(() => {
        const at = document.activeElement;
        return at?.closest('header')
          ? 'head'
          : at?.closest('nav')
            ? 'tasks'
            : at?.closest('.timeline')
              ? 'timeline'
              : at?.closest('.tools')
                ? 'tools'
                : at?.closest('.list')
                  ? 'steps'
                  : at?.closest('aside')
                    ? 'panel'
                    : 'none';
      });
      if (order.at(-1) !== name) order.push(name);
    }
    expect(order.slice(0, 6)).toEqual(['head', 'tasks', 'timeline', 'tools', 'steps', 'panel']);
  });

  it('leads from an address to its step, and from a step to its address', async () => {
    const events = made.trace
      .split('\n')
      .flatMap((line) => (line.includes('"delegation"') ? [(JSON.parse(line) as { event_id: string }).event_id] : []));
    const { page } = await opened(`&tab=grants&s=${events[3]}`);
    await page.getByRole('heading', { name: 'reviewer' }).waitFor();
    await expect.poll(() => tab(page)).toBe('Grants');
    await page.keyboard.press('1');
    await page.waitForFunction((id) => location.hash.endsWith(`&s=${id}`), events[3]);
    await page.locator('#steps').focus();
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction((id) => !location.hash.includes(id), events[3] ?? '');
    await page.keyboard.press('Escape');
    await page.waitForFunction((id) => location.hash === `#session=${id}`, made.id);
  });

  it('shows a task as a conversation, with its answers and what its child did', async () => {
    const { page } = await opened('&tab=conversation');
    await page.getByText('The loop leaves when line is undefined').first().waitFor();
    await page.locator('.call-head', { hasText: 'patch' }).first().click();
    await page.locator('.call-body .add').first().waitFor();
    await page.keyboard.press(']');
    await page.keyboard.press(']');
    await page.getByText('Both. A file may end either way.').first().waitFor();
    await page.locator('.child-talk button').first().click();
    await page.locator('.nested .request').getByText('The parser drops the last header').waitFor();
    expect(await page.locator('.nested .turn-head b').first().textContent()).toBe('turn 1');
    // The texts for screen readers alone are below the part in sight: they must not make the page itself scroll.
    await page.locator('.nested .turn').last().scrollIntoViewIfNeeded();
    expect(await page.evaluate(() => document.querySelector('.top')?.getBoundingClientRect().top)).toBe(0);
  });

  it('draws the Markdown of the model, or shows it as it is written, by a button and by a key', async () => {
    const { page } = await opened('&tab=conversation');
    await page
      .locator('.markdown code', { hasText: /^rest$/ })
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'As written' }).click();
    await page.locator('pre', { hasText: 'what stands in `rest` is lost' }).first().waitFor();
    expect(await page.locator('.markdown').count()).toBe(0);
    await page.keyboard.press('m');
    await page
      .locator('.markdown code', { hasText: /^rest$/ })
      .first()
      .waitFor();
    expect(await page.getByRole('button', { name: 'As written' }).getAttribute('aria-pressed')).toBe('false');
  });

  it('shows the result once where it was the last message', async () => {
    const { page } = await opened('&tab=conversation');
    await page.locator('.rule.end').waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByText('All tests pass now.').count()).toBe(1);
    expect(await page.locator('.result').count()).toBe(0);
  });

  it('leads from the number of failures to them', async () => {
    const { page } = await opened('&tab=grants');
    await page.getByRole('button', { name: /^\d+$/ }).click();
    await page.locator('.step.bad').first().waitFor();
    expect([await tab(page), await page.locator('.step:not(.bad)').count()]).toEqual(['Steps', 0]);
  });

  it('sets what was granted against what was used', async () => {
    const { page } = await opened('&tab=grants');
    const row = async (what: string): Promise<readonly string[]> =>
      await page.getByRole('row', { name: what }).locator('td').allTextContents();
    await page.getByText('svc.yaml, line 13').first().waitFor();
    await expect
      .poll(() => row('grep'))
      .toEqual(['Command', 'grep', 'svc.yaml, line 13', '29', '2', '0', 'Show steps']);
    expect(await row('jq')).toEqual(['Command', 'jq', 'svc.yaml, line 13', '0', '0', '0', 'not called by the model']);
    expect(await row('docs.example.com:443')).toEqual([
      'Network',
      'docs.example.com:443',
      'svc.yaml, line 11',
      '–',
      '–',
      '–',
      'not recorded',
    ]);
    await page.getByText('A bug of the kernel can undo all of this.').waitFor();
    await page.getByRole('row', { name: 'grep' }).getByRole('button', { name: 'Show steps' }).click();
    await page.locator('.tools output.filtered').waitFor();
    await expect.poll(() => page.locator('.step .name').first().textContent()).toContain('grep');
  });

  it('shows what the files became, and a picture only after a click', async () => {
    const { page, faults, foreign } = await opened('&tab=files');
    await expect
      .poll(() => page.locator('.leaf-name').allTextContents())
      .toEqual(['out/result.txt', 'format.md', 'picture.png', 'body.ts', 'header.ts', 'frames.ts', 'parse.test.ts']);
    await page.getByText('The last header is kept.').waitFor();
    await page.locator('.leaf', { hasText: 'frames.ts' }).click();
    await page.getByRole('heading', { name: '10 changes, the last first' }).waitFor();
    await page.locator('.leaf', { hasText: 'picture.png' }).click();
    await page.getByRole('button', { name: 'Show the picture' }).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await page.getByRole('button', { name: 'Show the picture' }).click();
    expect(
      await page.locator('img').evaluate((image: HTMLImageElement) => [image.src.slice(0, 15), image.naturalWidth]),
    ).toEqual(['data:image/png;', 1]);
    expect([faults, foreign]).toEqual([[], []]);
  });

  it('compares with another session, and says where they part', async () => {
    const { page } = await opened('&tab=compare');
    await page.locator('select').selectOption(other.id);
    await page.getByRole('heading', { name: 'They part at step 58, turn 12' }).waitFor();
    expect(await page.locator('.parting').innerText()).toContain(
      'The model was asked the same and answered something else',
    );
  });

  it('says of what was not compared that it was not', async () => {
    const notes = ['A journal is damaged: a record is no record. What stands behind it was not compared.'];
    const compared = { said: null, parting: null, notes };
    const server = await new StandInServer([made, other], compared).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url(made.id, '&tab=compare'));
    onTestFinished(close);
    await page.locator('select').selectOption(other.id);
    await page.locator('.parting').waitFor();
    expect(await page.locator('.parting').innerText()).toBe(notes[0]);
  });

  it('says that its server is gone where it would list other sessions', async () => {
    const server = await new StandInServer([made, other]).listen();
    const { page, close } = await openPage(server.url(made.id));
    onTestFinished(close);
    await page.locator('.step').first().waitFor();
    await server.close();
    await page.getByRole('tab', { name: 'Compare' }).click();
    await page.locator('.compare').getByText('The server of this page does not answer any more.').waitFor();
    expect(await page.locator('.compare option').allTextContents()).toEqual(['choose a session']);
  });

  it('says in a narrow list of tasks which of them is not trusted', async () => {
    const { page } = await opened('', { width: 1024, height: 768 });
    const facts = page.locator('.task-facts', { has: page.locator('.warn') }).first();
    const [around, word] = [await facts.boundingBox(), await facts.locator('.warn').boundingBox()];
    expect(await facts.textContent()).toContain(' · untrusted · ');
    const end = (box: typeof word): number => (box?.x ?? 0) + (box?.width ?? 0);
    expect(end(word)).toBeLessThan(end(around));
  });

  it('takes keys wherever it is, and none behind the list of them', async () => {
    const { page } = await opened('&tab=grants');
    await page.keyboard.press('/');
    await page.locator('#search:focus').waitFor();
    expect(await tab(page)).toBe('Steps');
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: 'Files' }).click();
    await page.keyboard.press('e');
    await page.locator('.failed-only[aria-pressed=true]').waitFor();
    await page.keyboard.press('e');
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('.step[aria-selected=true]').count()).toBe(1);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('2');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
    expect(await tab(page)).toBe('Steps');
  });

  it('has links to its steps, which a page that is open goes to', async () => {
    const { page } = await opened();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.step').nth(3).click();
    const name = await chosenName(page);
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByText('Copied, for the address of this tab').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    await page.keyboard.press('Escape');
    await page.locator('.step').nth(8).click();
    await page.goto(link);
    await expect.poll(() => chosenName(page)).toBe(name);
    expect(link).toMatch(/#session=[\w-]+&s=evt_[0-9a-f]{32}$/);
  });

  it('lies over or folds away what has no room', async () => {
    const { page } = await opened('', { width: 1024, height: 768 });
    expect(await page.locator('.side').isVisible()).toBe(false);
    await page.locator('.step').nth(3).click();
    await page.locator('.side').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.side').waitFor({ state: 'hidden' });
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.locator('.rail').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Tasks' }).click();
    await page.locator('.task').nth(1).click();
    await page.locator('.rail').waitFor({ state: 'hidden' });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    await page.getByRole('button', { name: 'Summary' }).click();
    expect(await page.locator('.side .facts dt').first().textContent()).toBe('Time');
    await page.keyboard.press('Escape');
    await page.locator('.side').waitFor({ state: 'hidden' });
    await page.getByRole('tab', { name: 'Grants' }).click();
    expect(await page.locator('.timeline').isVisible()).toBe(false);
  });

  it('lists the sessions, and goes to one and back', async () => {
    const { page } = await opened();
    await page.getByRole('button', { name: 'All sessions' }).click();
    await page.locator('.session-row').nth(1).waitFor();
    await page.locator('#sessions').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash === '#session=ses_other');
    await page.goBack();
    await page.locator('.session-row').first().waitFor();
    expect(await page.locator('.session-row').count()).toBe(3);
  });

  it('stays the same in an exported file, which asks nobody', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-viewer-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'export.html');
    writeFileSync(file, documentOf({ kind: 'exported', elements: await elementsOf(made) }).html);
    const { page, faults, foreign, close } = await openPage(`${pathToFileURL(file).href}#tab=conversation`);
    onTestFinished(close);
    await page.getByText('The loop leaves when line is undefined').first().waitFor();
    await page.keyboard.press('5');
    await page.getByText('This file holds one session.').waitFor();
    expect([faults, foreign]).toEqual([[], []]);
  });

  it.each([
    ['empty', '', 'The trace has no line.'],
    ['damaged', 'no event\n', 'damaged line'],
  ])('says what there is to say of a trace that is %s', async (_what, trace, words) => {
    const server = await new StandInServer([{ id: 'ses_x', trace }]).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url('ses_x'));
    onTestFinished(close);
    await page.getByText(words).first().waitFor();
    for (const name of ['Conversation', 'Grants', 'Files', 'Compare']) {
      await page.getByRole('tab', { name }).click();
      await expect.poll(async () => (await page.locator('[role=tabpanel]').textContent())?.length).toBeGreaterThan(20);
    }
  });
});
