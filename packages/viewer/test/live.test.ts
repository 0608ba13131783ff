import type { ServerResponse } from 'node:http';

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import type { ViewedApproval } from '@svc/protocol/viewed-session.ts';
import { inertJson } from '@svc/kit/diagnostics/printable.ts';
import { chromiumPath, closeBrowser, openPage } from './support/browser.ts';
import { makeSession } from './support/made-session.ts';
import { buildPage } from './support/page-document.ts';
import { type RunningCapsule, runningCapsule } from './support/running-capsule.ts';
import { type StandInSession, StandInServer, type TraceWriter } from './support/stand-in-server.ts';

interface Asked {
  readonly method: string;
  readonly params: unknown;
}

/** A page that looks at a capsule which asks, and what the capsule was asked. */
async function watching(
  capsule: RunningCapsule,
  more: Partial<StandInSession> = {},
  size: { readonly width?: number; readonly height?: number } = {},
): Promise<{
  readonly page: Page;
  readonly asked: Asked[];
  readonly faults: readonly string[];
  readonly foreign: readonly string[];
}> {
  const asked: Asked[] = [];
  const rpc = ({ method, params }: Asked): Readonly<Record<string, unknown>> => {
    asked.push({ method, params });
    return { result: { status: { state: 'working' } } };
  };
  const { trace, now } = capsule;
  const server = await new StandInServer([{ id: 'ses_live', trace, now, rpc, ...more }]).listen();
  onTestFinished(() => server.close());
  const { page, faults, foreign, close } = await openPage(server.url('ses_live', '&tab=conversation'), size);
  onTestFinished(close);
  return { page, asked, faults, foreign };
}

describe.skipIf(chromiumPath === null)('a session that runs (skipped without Chromium)', { timeout: 60_000 }, () => {
  beforeAll(async () => void (await buildPage()), 60_000);
  afterAll(closeBrowser);

  it('shows what runs right now, and goes on to its end', async () => {
    const capsule = runningCapsule();
    const { page, faults } = await watching(capsule);
    await page.locator('.chip.live').waitFor();
    await page.locator('.live-turn').getByText('I ask which one.').waitFor();
    await page.locator('.live-turn .call').getByText('svc-tool-request-input').waitFor();
    await expect.poll(() => page.locator('.task-facts').textContent()).toBe('waits for you · 120 tokens');
    await page.locator('.chip', { hasText: 'waits for you' }).waitFor();
    capsule.answered();
    await page.locator('.banner').waitFor({ state: 'detached' });
    await page.locator('.live-turn .call').waitFor({ state: 'detached' });
    await page.locator('.question').getByText('Which of the two formats is meant?').waitFor();
    capsule.ended();
    await page.locator('.chip.live').waitFor({ state: 'detached' });
    await page.locator('.chip', { hasText: /^ok$/ }).waitFor();
    await page.locator('.rule.end').getByText('completed').waitFor();
    await expect.poll(() => page.locator('.task-facts').textContent()).toBe('completed · 240 tokens · 3.0 s');
    expect(faults).toEqual([]);
  });

  it.each([
    [1280, 720, 0.7],
    [390, 740, 0.6],
  ])(
    'leaves the most of a page of %i × %i to the conversation and to the files, also while a question waits',
    async (width, height, share) => {
      const capsule = runningCapsule('Which one?\nThe first.\nThe second.');
      const { page } = await watching(capsule, {}, { width, height });
      await page.locator('.banner').waitFor();
      const shareOf = async (what: string): Promise<number> =>
        ((await page.locator(what).boundingBox())?.height ?? 0) / height;
      expect(await shareOf('.tab-panel')).toBeGreaterThan(share);
      await page.keyboard.press('4');
      await page.locator('[aria-selected=true]', { hasText: 'Files' }).waitFor();
      expect(await shareOf('.tab-panel')).toBeGreaterThan(share);
      await page.getByRole('textbox', { name: 'Answer' }).fill('Not yet sent');
      await page.getByRole('button', { name: 'Fold the question' }).click();
      await page.locator('.banner h2', { hasText: 'Which one? The first. The second.' }).waitFor();
      expect(await shareOf('.banner')).toBeLessThan(0.07);
      await page.getByRole('button', { name: 'Show the question' }).press('Enter');
      expect(await page.getByRole('textbox', { name: 'Answer' }).inputValue()).toBe('Not yet sent');
      await page.keyboard.press('Escape');
      await page.getByRole('tab', { name: 'Steps' }).click();
      await page.locator('.timeline').waitFor();
    },
  );

  it('draws hostile Markdown as text that is nothing else and asks nobody', async () => {
    const text = [
      '# <img src=x onerror=alert(1)>',
      '[a](javascript:alert(1)) ![b](https://evil.example/x.png) <https://evil.example>',
      '',
      '| <script>alert(2)</script> | b |',
      '|--|--|',
      '| `<svg/onload=alert(3)>` | **<iframe src=//evil.example>** |',
      '',
      '[r]: https://evil.example/r',
      '```html <base href=//evil.example>',
      '<style>*{display:none}</style>\u202E',
      '```',
      '<a href=https://evil.example>c</a> <form action=//evil.example>',
    ].join('\n');
    const capsule = runningCapsule();
    const now = (response: ServerResponse): void => {
      const task = 'tsk_00000000000000000000000000000001';
      const idle = { question: null, calls: [], thinking: false, retry: '', model: 'large-2' };
      response.write(`${JSON.stringify({ ...idle, task, turn: 2, text })}\n`);
    };
    const { page, faults, foreign } = await watching(capsule, { now });
    const drawn = page.locator('.live-turn .markdown');
    await expect
      .poll(() => drawn.locator('td').allTextContents())
      .toEqual(['<script>alert(2)</script>', 'b', '<svg/onload=alert(3)>', '<iframe src=//evil.example>']);
    expect(await drawn.locator('.heading').textContent()).toBe('<img src=x onerror=alert(1)>');
    expect(await drawn.locator('pre').textContent()).toBe('<style>*{display:none}</style>U+202E');
    await drawn.getByText('html <base href=//evil.example>').waitFor();
    await drawn.getByText('[a](javascript:alert(1)) ![b](https://evil.example/x.png) <https://evil.example>').waitFor();
    await drawn.getByText('[r]: https://evil.example/r').waitFor();
    const strange = '#app :is(img, script, iframe, svg, math, object, style, a, link, form, base, meta)';
    expect(await page.locator(strange).count()).toBe(0);
    await page.keyboard.press('m');
    await expect.poll(() => page.locator('.live-turn pre').textContent()).toBe(text.replace('\u202E', 'U+202E'));
    expect([faults, foreign]).toEqual([[], []]);
  });

  it('has its question answered, by exactly this answer to exactly this question', async () => {
    const capsule = runningCapsule();
    const { page, asked } = await watching(capsule);
    await page.getByRole('textbox', { name: 'Answer' }).fill('Both of them.');
    await page.locator('.answer [aria-disabled=false]').waitFor();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('Answered.').waitFor();
    await page.getByRole('button', { name: 'Answer', exact: true }).click({ force: true });
    capsule.answered();
    await page.locator('.banner').waitFor({ state: 'detached' });
    expect(await page.locator('.notes').count()).toBe(0);
    expect(asked).toEqual([
      {
        method: 'tasks/answer',
        params: { id: 'tsk_00000000000000000000000000000001', wait: 'q1', text: 'Both of them.' },
      },
    ]);
  });

  it('takes no answer that was given within 300 ms of the question', async () => {
    const capsule = runningCapsule();
    let now = (_response: ServerResponse): void => {};
    const listening = new Promise<ServerResponse>((resolve) => (now = resolve));
    const { page, asked } = await watching(capsule, { now });
    // Presses it as soon as it is there, and again until it is nearly old enough.
    const pressing = page.evaluate(async () => {
      let times = 0;
      const find = (): HTMLButtonElement | null => document.querySelector('.banner .button.main');
      document.body.dataset['presses'] = 'soon';
      while (find() === null) await new Promise((resolve) => requestAnimationFrame(resolve));
      const since = performance.now();
      for (; performance.now() - since < 200; times += 1) {
        find()?.click();
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return times;
    });
    await page.locator('body[data-presses=soon]').waitFor();
    capsule.now(await listening);
    const presses = await pressing;
    expect(presses).toBeGreaterThan(0);
    expect([asked, await page.locator('.said').textContent()]).toEqual([[], '']);
    await page.locator('.answer [aria-disabled=false]').waitFor();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('Answered.').waitFor();
    expect(asked.length).toBe(1);
  });

  it('spells what hides in a question, and says where it may only read', async () => {
    const capsule = runningCapsule('Pay p\u0430ypal\u202E?\u200B');
    const { page } = await watching(capsule, { facts: { readOnly: true } });
    await page.locator('.banner').waitFor();
    expect(await page.locator('.banner .odd').allTextContents()).toEqual(['U+202E', 'U+200B']);
    await page.getByText('Words in it mix letters').waitFor();
    await page.getByText('This page may only read.').waitFor();
    expect(await page.getByRole('textbox', { name: 'Answer' }).count()).toBe(0);
  });

  it('says what the capsule says against an answer, which can then be given again', async () => {
    const { page } = await watching(runningCapsule(), {
      rpc: () => ({ error: { code: -32_010, message: 'Question not open' } }),
    });
    await page.locator('.banner').waitFor();
    await page.locator('.answer [aria-disabled=false]').waitFor();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByText('Question not open').waitFor();
    expect(await page.getByRole('button', { name: 'Answer', exact: true }).getAttribute('aria-disabled')).toBe('false');
  });

  const approval: ViewedApproval = {
    id: 'apr_1_q1',
    digest: 'sha256:ab',
    of: 'painter',
    asker: 'painter wants to run this, and approvals.rules[0] asks you:',
    rows: [inertJson('<img src=x onerror=alert(1)>\u202E\u001B[2J'), 'x'.repeat(400)],
    options: ['once', 'session', 'manifest'],
  };

  it('shows a call that waits as text alone, before the answers, and sends the one that is chosen', async () => {
    const { page, asked, faults } = await watching(runningCapsule('x', approval));
    const banner = page.locator('.banner');
    await banner.waitFor();
    expect(await banner.locator('pre').textContent()).toBe(
      `"<img src=x onerror=alert(1)>\\u{202e}\\u001b[2J"\n${'x'.repeat(400)}`,
    );
    expect([await banner.locator('img').count(), await banner.getByRole('textbox').count()]).toEqual([0, 0]);
    expect(await banner.locator('.button').allTextContents()).toEqual([
      'No',
      'Yes, once',
      'Yes, in the session of painter',
      'Yes, in every session',
    ]);
    expect(
      await banner
        .locator('pre, .button')
        .first()
        .evaluate((element) => element.tagName),
    ).toBe('PRE');
    await banner.locator('[aria-disabled=false]').first().waitFor();
    await banner.getByRole('button', { name: 'Yes, in every session' }).click();
    await page.getByText('Answered.').waitFor();
    expect(asked).toEqual([
      {
        method: 'approvals/answer',
        params: { id: 'apr_1_q1', digest: 'sha256:ab', decision: 'allow', option: 'manifest' },
      },
    ]);
    expect(faults).toEqual([]);
  });

  it('offers no answer for the session that the call does not have, and none where it may only read', async () => {
    const once = runningCapsule('x', { ...approval, options: ['once'] });
    const { page } = await watching(once);
    await page.locator('.banner').waitFor();
    expect(await page.locator('.banner .button').allTextContents()).toEqual(['No', 'Yes, once']);
    const reading = await watching(runningCapsule('x', approval), { facts: { readOnly: true } });
    await reading.page.getByText('svc approve, in a terminal, answers it.').waitFor();
    expect(await reading.page.locator('.banner .button').count()).toBe(0);
  });

  it.each([
    ['deny', 'token:anna'],
    ['canceled', 'task'],
    ['expired', 'clock'],
  ])('says who was faster, also when the call does not wait any more (%s)', async (decision, by) => {
    const capsule = runningCapsule('x', approval);
    const settled = { id: 'apr_1_q1', state: 'settled', decision, by, at: 1 };
    const { page, faults } = await watching(capsule, {
      rpc: () => ({ error: { code: -32_050, message: 'Approval settled', data: settled } }),
    });
    await page.locator('.banner [aria-disabled=false]').first().waitFor();
    await page.getByRole('button', { name: 'Yes, once' }).click();
    await page.locator('.said').getByText(`It was settled before: ${decision} by ${by}`).waitFor();
    capsule.answered();
    await page.locator('.banner').waitFor({ state: 'detached' });
    await page
      .locator('.notes')
      .getByText(`Your answer did not count. It was settled before: ${decision} by ${by}`)
      .waitFor();
    expect(faults).toEqual([]);
  });

  it('keeps up with 2,000 lines a second in few messages, at the end of its list', async () => {
    const lines = makeSession({ lines: 12_000 }).trace.split('\n').slice(0, -2);
    const stream = new PacedLines(lines);
    const server = await new StandInServer([
      { id: 'ses_live', trace: (writer) => stream.write(writer, 8000) },
    ]).listen();
    onTestFinished(() => server.close());
    const { page, faults, close } = await openPage(server.url('ses_live'));
    onTestFinished(close);
    await page.locator('.tools output', { hasText: '8,000 lines' }).waitFor();
    await stream.pace(2000);
    await page.locator('.tools output', { hasText: '12.0 k lines' }).waitFor({ timeout: 10_000 });
    expect(await page.locator('#steps [role=row]').count()).toBeLessThanOrEqual(60);
    expect(faults).toEqual([]);
  });

  it('has each turn once while its call runs', async () => {
    const capsule = runningCapsule();
    const { page } = await watching(capsule);
    await page.locator('.live-turn b', { hasText: 'turn 2' }).waitFor();
    capsule.told();
    await page.locator('.live-turn b', { hasText: 'now' }).waitFor();
    expect(await page.locator('.turn-head b').allTextContents()).toEqual(['turn 1', 'turn 2', 'now']);
  });

  it('keeps an answer that another client was faster than', async () => {
    const capsule = runningCapsule();
    const { page, asked } = await watching(capsule);
    await page.getByRole('textbox', { name: 'Answer' }).fill('Both of them.');
    capsule.answered();
    await page.locator('.banner').waitFor({ state: 'detached' });
    await page.locator('.notes').getByText('Your answer was not sent: Both of them.').waitFor();
    expect(asked).toEqual([]);
  });

  it('shows files as they come', async () => {
    const capsule = runningCapsule();
    const files = new Map([['out/one.txt', 'one']]);
    const { page } = await watching(capsule, { files });
    await page.getByRole('tab', { name: 'Files' }).click();
    await page.locator('.leaf').getByText('one.txt').waitFor();
    files.set('out/two.txt', 'two');
    files.set('out/one.txt', 'one and more');
    capsule.answered();
    await page.locator('.leaf').getByText('two.txt').waitFor();
    await page.locator('.block').getByText('one and more').waitFor();
    expect(await page.locator('.leaf').count()).toBe(2);
  });

  it('shows what a step gave as soon as the journal has it', async () => {
    const capsule = runningCapsule();
    const place = 'tsk_00000000000000000000000000000001/1/m1';
    const records: object[] = [
      { k: 'open', version: 1, capture: 'content' },
      { k: 'start', e: place, port: 'model', name: 'large-2' },
    ];
    const said = JSON.stringify({ kind: 'response', response: { content: [{ type: 'text', text: 'I ask first.' }] } });
    const { trace, now } = capsule;
    const server = await new StandInServer([
      {
        id: 'ses_live',
        trace,
        now,
        get journal(): string {
          return records.map((record) => `${JSON.stringify(record)}\n`).join('');
        },
        bodies: new Map([['a'.repeat(64), said]]),
      },
    ]).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url('ses_live'));
    onTestFinished(close);
    await page.locator('.step').getByText('turn 1').click();
    await page.locator('.side').getByText('Nothing came back').waitFor();
    records.push({ k: 'end', e: place, ms: 5, value: 'a'.repeat(64) });
    capsule.answered();
    await page.locator('.side').getByText('I ask first.').waitFor();
    expect(await page.locator('.side').getByText('Nothing came back').count()).toBe(0);
  });

  it('can be answered and scrolled where the window is low', async () => {
    const prompt = Array.from({ length: 40 }, (_, line) => `Line ${line} of the question.`).join('\n');
    const { page } = await watching(runningCapsule(prompt));
    await page.setViewportSize({ width: 720, height: 450 });
    await page.locator('.answer').waitFor();
    const button = await page.getByRole('button', { name: 'Answer', exact: true }).boundingBox();
    expect((button?.y ?? 0) + (button?.height ?? 1000)).toBeLessThanOrEqual(450);
    await page.locator('#tab-panel').hover({ position: { x: 20, y: 150 } });
    const panel = await page.locator('#tab-panel').boundingBox();
    expect([(panel?.height ?? 0) > 150, (panel?.y ?? 1000) < 300]).toEqual([true, true]);
  });

  it('does not run any more as soon as its capsule is gone, and then shows what is wrong with its record', async () => {
    const capsule = runningCapsule();
    const noEnd = 'The trace has no end of the session: it was killed, or could not write it.';
    let notes: string[] = [];
    const facts = {
      get notes(): string[] {
        return notes;
      },
    };
    const { page } = await watching(capsule, { facts });
    await page.locator('.chip.live').waitFor();
    await page.locator('.banner').waitFor();
    notes = [noEnd];
    capsule.gone();
    await page.locator('.banner').waitFor({ state: 'detached' });
    await page.locator('.chip.bad', { hasText: /^no end$/ }).waitFor();
    expect(await page.locator('.chip.live').count()).toBe(0);
    await page.locator('.notes').getByText(noEnd).waitFor();
  });

  it('goes on in the same page when its capsule has died and is resumed', async () => {
    const lines = makeSession({ lines: 60 }).trace;
    const cut = lines.indexOf('\n', 10_000) + 1;
    let connections = 0;
    const trace = (writer: TraceWriter): void => {
      connections += 1;
      writer.end(lines.slice(0, connections === 1 ? cut : undefined));
    };
    const { page } = await watching(runningCapsule(), { trace });
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.locator('.tools output', { hasText: '60 lines' }).waitFor({ timeout: 20_000 });
    expect(connections).toBeGreaterThan(1);
  });

  it('shows what a resumed capsule does, also where it had died before the page asked for that', async () => {
    const capsule = runningCapsule();
    let asked = 0;
    const now = (response: ServerResponse): void => {
      asked += 1;
      if (asked === 1) response.writeHead(410).end();
      else capsule.now(response);
    };
    const { page } = await watching(capsule, { now });
    await page.locator('.banner').waitFor({ timeout: 20_000 });
    expect(asked).toBe(2);
  });

  it('asks a server again that has too much to do', async () => {
    const server = await new StandInServer([makeSession({ lines: 60 })]).listen();
    onTestFinished(() => server.close());
    server.refuses = 2;
    const { page, close } = await openPage(server.url(makeSession({ lines: 60 }).id));
    onTestFinished(close);
    await page.locator('.tools output', { hasText: '60 lines' }).waitFor({ timeout: 20_000 });
    expect(server.refuses).toBe(0);
  });

  it('goes on where it was when a connection breaks off', async () => {
    const lines = makeSession({ lines: 2000 }).trace;
    let connections = 0;
    const trace = (writer: TraceWriter): void => {
      connections += 1;
      if (connections === 4) {
        writer.end(lines);
        return;
      }
      writer.write(lines.slice(0, connections * 100_001));
      writer.cut();
    };
    const server = await new StandInServer([{ id: 'ses_cut', trace }]).listen();
    onTestFinished(() => server.close());
    const { page, close } = await openPage(server.url('ses_cut'));
    onTestFinished(close);
    await page.locator('.tools output', { hasText: '2,000 lines' }).waitFor();
    expect(connections).toBe(4);
    expect(await page.locator('.sum').first().textContent()).not.toContain('damaged');
  });
});

/** Lines of a trace that come at a steady pace. */
class PacedLines {
  readonly #lines: readonly string[];
  #trace: TraceWriter | null = null;
  #sent = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  write(trace: TraceWriter, count: number): void {
    this.#trace = trace;
    this.#send(count);
  }

  /** Resolves when all are sent. */
  async pace(perSecond: number): Promise<void> {
    const began = performance.now();
    const from = this.#sent;
    while (this.#sent < this.#lines.length) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      this.#send(Math.floor(((performance.now() - began) / 1000) * perSecond) - (this.#sent - from));
    }
  }

  #send(count: number): void {
    const chosen = this.#lines.slice(this.#sent, this.#sent + Math.max(0, count));
    if (chosen.length === 0) return;
    this.#trace?.write(`${chosen.join('\n')}\n`);
    this.#sent += chosen.length;
  }
}
