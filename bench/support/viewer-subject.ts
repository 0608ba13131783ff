/** The page of the viewer in Chromium, with a made-up session behind a server as that of `svc view`. */

import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Page } from 'playwright-core';

import { closeBrowser, chromiumPath, openPage } from '../../packages/viewer/test/support/browser.ts';
import { makeTrace } from '../../packages/viewer/test/support/made-session.ts';
import { buildPage } from '../../packages/viewer/test/support/page-document.ts';
import { StandInServer, type TraceWriter } from '../../packages/viewer/test/support/stand-in-server.ts';
import type { Viewer } from './viewer-measures.ts';

const perSecond = 2000;
const liveMs = 4000;

/** Rejects where there is no Chromium. */
export async function startViewer({ root, lines }: { readonly root: string; readonly lines: number }): Promise<Viewer> {
  if (chromiumPath === null) throw new Error('there is no Chromium');
  await buildPage(root);
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-viewer-'));
  const file = join(folder, 'trace.jsonl');
  writeFileSync(file, '');
  for (const piece of makeTrace(lines)) writeFileSync(file, piece, { flag: 'a' });
  const live = new LiveLines(lines);
  const server = await new StandInServer([
    { id: 'ses_file', trace: '', file },
    { id: 'ses_live', trace: (writer) => live.open(writer) },
  ]).listen();

  const whole = async (page: Page, count: number): Promise<void> => {
    await page.waitForFunction(
      (rows) =>
        Number(
          document.querySelector('.list')?.ariaRowCount ??
            document.querySelector('.list')?.getAttribute('aria-rowcount'),
        ) > rows,
      count,
      { timeout: 60_000, polling: 'raf' },
    );
  };
  const opened = async <Value>(measure: (page: Page) => Promise<Value>): Promise<Value> => {
    const { page, close } = await openPage(server.url('ses_file'), { waitFor: 'commit' });
    try {
      return await measure(page);
    } finally {
      await close();
    }
  };
  const sinceStart = async (page: Page): Promise<number> =>
    await page.evaluate(
      () =>
        new Promise<number>((resolve) =>
          requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now()))),
        ),
    );
  return {
    firstRows: async () =>
      await opened(async (page) => {
        await page.waitForFunction(() => document.querySelector('.step') !== null, null, {
          polling: 'raf',
          timeout: 60_000,
        });
        return await sinceStart(page);
      }),
    allRows: async () =>
      await opened(async (page) => {
        await whole(page, lines);
        return await sinceStart(page);
      }),
    scrollFrame: async () =>
      await opened(async (page) => {
        await whole(page, lines);
        return await page.evaluate(async () => {
          const box = document.querySelector('.list') ?? document.body;
          const frames: number[] = [];
          let before = performance.now();
          for (let frame = 0; frame < 240; frame += 1) {
            box.scrollTop = frame < 120 ? frame * 300 : ((frame * 7919) % 1000) * (box.scrollHeight / 1000);
            await new Promise((resolve) => requestAnimationFrame(resolve));
            const now = performance.now();
            frames.push(now - before);
            before = now;
          }
          return frames.toSorted((a, b) => a - b)[228] ?? Number.NaN;
        });
      }),
    zoomFrame: async () =>
      await opened(async (page) => {
        await whole(page, lines);
        const box = await page.locator('.lanes-canvas').boundingBox();
        if (box === null) throw new Error('the timeline is not there');
        return await page.evaluate(
          async ({ x, y }) => {
            const canvas = document.querySelector('.lanes-canvas');
            const frames: number[] = [];
            let before = performance.now();
            for (let frame = 0; frame < 120; frame += 1) {
              const deltaY = frame % 40 < 20 ? -100 : 100;
              canvas?.dispatchEvent(
                new WheelEvent('wheel', { deltaY, clientX: x, clientY: y, bubbles: true, cancelable: true }),
              );
              await new Promise((resolve) => requestAnimationFrame(resolve));
              const now = performance.now();
              frames.push(now - before);
              before = now;
            }
            return frames.toSorted((a, b) => a - b)[114] ?? Number.NaN;
          },
          { x: box.x + box.width / 2, y: box.y + 60 },
        );
      }),
    behind: async () => {
      const { page, close } = await openPage(server.url('ses_live'));
      try {
        await whole(page, live.first);
        return await live.pace(
          async () =>
            await page.evaluate(() => Number(document.querySelector('.list')?.getAttribute('aria-rowcount')) - 1),
        );
      } finally {
        await close();
      }
    },
    emptyFrame: async () => {
      const { page, close } = await openPage('about:blank');
      const frame = await page.evaluate(async () => {
        const frames: number[] = [];
        let before = performance.now();
        for (let count = 0; count < 120; count += 1) {
          await new Promise((resolve) => requestAnimationFrame(resolve));
          const now = performance.now();
          frames.push(now - before);
          before = now;
        }
        return frames.toSorted((a, b) => a - b)[114] ?? Number.NaN;
      });
      await close();
      return frame;
    },
    close: async () => {
      await closeBrowser();
      await server.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A trace that comes: most of it at once, the rest at a steady pace. */
class LiveLines {
  readonly #lines: readonly string[];
  #trace: TraceWriter | null = null;
  sent = 0;

  constructor(count: number) {
    this.#lines = [...makeTrace(count)].join('').split('\n').slice(0, -1);
  }

  open(trace: TraceWriter): void {
    this.#trace = trace;
    this.sent = 0;
    this.#send(this.first);
  }

  /** Lines that are there from the beginning. */
  get first(): number {
    return this.#lines.length - (perSecond * liveMs) / 1000 - 100;
  }

  /** How many milliseconds `seen` is behind what was sent: the 95th percentile. */
  async pace(seen: () => Promise<number>): Promise<number> {
    const [began, from] = [performance.now(), this.sent];
    const timer = setInterval(
      () => this.#send(Math.floor(((performance.now() - began) / 1000) * perSecond) - (this.sent - from)),
      10,
    );
    const behind: number[] = [];
    while (performance.now() - began < liveMs - 200) {
      const due = this.sent;
      behind.push((Math.max(0, due - (await seen())) / perSecond) * 1000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    clearInterval(timer);
    this.#trace?.end();
    return behind.toSorted((a, b) => a - b)[Math.floor(behind.length * 0.95)] ?? Number.NaN;
  }

  #send(count: number): void {
    const chosen = this.#lines.slice(this.sent, this.sent + Math.max(0, count));
    if (chosen.length === 0) return;
    this.#trace?.write(`${chosen.join('\n')}\n`);
    this.sent += chosen.length;
  }
}
