import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, describe, expect, it, onTestFinished } from 'vitest';

import { chromiumPath, closeBrowser, openPage, type OpenPage } from './support/browser.ts';
import { asks, calls, says, script } from '../../../test/support/scripted-turns.ts';
import { StandInCapsule } from '../../../test/support/stand-in-capsule.ts';
import { staysUp, useStreamedCapsules } from '../../../test/support/streamed-capsule.ts';
import { svc, SvcProcess } from '../../../test/support/svc-process.ts';
import { ViewProcess } from '../../../test/support/view-process.ts';

const capsules = useStreamedCapsules();

async function opened(url: string): Promise<OpenPage> {
  const page = await openPage(url);
  onTestFinished(async () => await page.close());
  return page;
}

describe.skipIf(chromiumPath === null)(
  'the page that svc view serves (skipped without Chromium)',
  { timeout: 90_000 },
  () => {
    afterAll(closeBrowser);

    it('answers the question of a capsule, and a terminal that watches shows the same end', async () => {
      const running = await capsules.script({
        manifest: `trace: { capture: content }\nartifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n${staysUp}`,
        script: script(asks('Which colour?'), says('Blue it is.')),
      });
      const { session_id: id } = running.line;
      const view = await ViewProcess.start(running.workspace, [id]);
      const watching = new SvcProcess(running.workspace, ['watch', id]);
      onTestFinished(async () => {
        watching.child.kill('SIGKILL');
        await watching.ended;
      });
      const { page, faults, foreign } = await opened(`${view.line.url}&tab=conversation`);
      await page.locator('.chip.live').waitFor();
      expect(page.url()).not.toContain(view.token);
      await running.send('Paint the shed.');
      await page.locator('.banner').getByText('Which colour?').waitFor();
      const asking = async (): Promise<unknown> => {
        const { sessions } = (await view.json('/sessions')) as { sessions: { asks: boolean }[] };
        return sessions.map((session) => session.asks);
      };
      await expect.poll(asking, { timeout: 20_000 }).toEqual([true]);
      // What a person has sent is no text of a stranger.
      expect(await page.locator('.request h2').textContent()).toBe('Request');
      await page.getByRole('textbox', { name: 'Answer' }).fill('Blue.');
      await page.locator('.answer [aria-disabled=false]').waitFor();
      await page.getByRole('button', { name: 'Answer', exact: true }).click();
      await page.locator('.banner').waitFor({ state: 'detached' });
      await page.locator('.rule.end').getByText('completed').waitFor();
      await page.getByText('Blue it is.').first().waitFor();
      await expect.poll(asking, { timeout: 20_000 }).toEqual([false]);
      await watching.printed(/Blue it is\.[^]*\[completed\] session ended/);
      await running.terminate();
      await page.locator('.chip.live').waitFor({ state: 'detached' });
      expect(faults).toEqual([]);
      expect(foreign).toEqual([]);
    });

    it('lets a call run that waits for approval, and none that was canceled meanwhile', async () => {
      const running = await capsules.script(
        {
          manifest: `capabilities: { shell: { allow: [touch] } }\napprovals: { rules: [{ ask: { command: [touch, "**"] } }] }\n${staysUp}`,
          script: script(calls([['c1', 'touch', { command: "'<b>\u202Epushed'" }]]), says('Done.')),
        },
        { SVC_CONTAINMENT_CEILING: 'sealed' },
      );
      const { session_id: id, workdir } = running.line;
      await svc(running.workspace, ['token', 'add', 'anna', '--scope', 'answer']);
      const view = await ViewProcess.start(running.workspace, [id]);
      const { page, faults, foreign } = await opened(`${view.line.url}&tab=conversation`);
      const banner = page.locator('.banner');
      const made = join(workdir, '<b>\u202Epushed');
      const asked = async (task: string): Promise<string> => {
        const { id: taskId } = await running.send(task);
        await banner.getByText('"touch" "<b>\\u{202e}pushed"').waitFor();
        expect(await banner.locator('b').count()).toBe(0);
        return taskId;
      };
      await running.rpc('tasks/cancel', { id: await asked('Push.') });
      await banner.waitFor({ state: 'detached' });
      expect(existsSync(made)).toBe(false);
      await asked('Push again.');
      await page.getByText('Task 2 of 2.').waitFor();
      await banner.locator('[aria-disabled=false]').first().waitFor();
      await banner.getByRole('button', { name: 'Yes, once' }).click();
      await expect.poll(() => existsSync(made), { timeout: 20_000 }).toBe(true);
      await banner.waitFor({ state: 'detached' });
      await page.locator('.talk').getByText('allow once').waitFor();
      expect(await page.getByText('Task 2 of 2.').count()).toBe(1);
      expect([faults, foreign]).toEqual([[], []]);
    });

    it('shows an exported session from the disk, with its texts and its files', async () => {
      const running = await capsules.script({ manifest: `trace: { capture: content }\n${staysUp}` });
      await running.send('Paint <u>the shed</u>.');
      await expect.poll(() => running.trace.at(-1)?.['event_type'], { timeout: 20_000 }).toBe('task_end');
      await running.terminate();
      const { folder } = running.workspace;
      const { code } = await svc(running.workspace, ['view', '--export', 'page.html', '--bodies', '--files']);
      expect(code).toBe(0);
      const { page, faults, foreign } = await opened(pathToFileURL(join(folder, 'page.html')).href);
      await page.getByText('Paint <u>the shed</u>.').first().waitFor();
      await page.keyboard.press('2');
      await page.getByText('Done.').first().waitFor();
      expect(await page.locator('u').count()).toBe(0);
      expect(
        await page.evaluate(
          async () =>
            await fetch('/').then(
              () => 'read',
              () => 'refused',
            ),
        ),
      ).toBe('refused');
      expect(
        faults.filter((fault) => !fault.includes('connect-src') && !fault.includes('Content Security Policy')),
      ).toEqual([]);
      expect(foreign.filter((url) => !url.startsWith('file:'))).toEqual([]);
    });

    it('lists the sessions, with no token in its address', async () => {
      const running = await capsules.script({ manifest: staysUp });
      const view = await ViewProcess.start(running.workspace);
      const { page, faults } = await opened(view.line.url);
      await page.getByText('demo').first().waitFor();
      expect(page.url()).toBe(`${view.origin}/`);
      expect(faults).toEqual([]);
      expect((await view.ask('/sessions')).status).toBe(200);
    });

    it('opens through the file that --open hands to the browser', async () => {
      const running = await capsules.script({ manifest: staysUp });
      const { home } = running.workspace;
      const note = join(home, 'note');
      mkdirSync(join(home, 'bin'));
      writeFileSync(join(home, 'bin', 'xdg-open'), `#!/bin/sh\necho "$1" > ${note}.new && mv ${note}.new ${note}\n`);
      chmodSync(join(home, 'bin', 'xdg-open'), 0o755);
      const path = `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`;
      const view = await ViewProcess.start(running.workspace, ['--open'], { env: { PATH: path, TMPDIR: home } });
      await expect.poll(() => existsSync(note), { timeout: 20_000 }).toBe(true);
      const file = readFileSync(note, 'utf8').trim();
      const { page } = await opened(pathToFileURL(file).href);
      await page.getByText('demo').first().waitFor();
      expect(page.url()).toBe(`${view.origin}/`);
      await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(false);
    });

    it('goes on with a capsule that has died and is there again', async () => {
      const running = await capsules.script({ manifest: staysUp });
      const { session_id: id, url } = running.line;
      const card = (await (await fetch(`http://${url}/.well-known/agent-card.json`)).json()) as Record<string, unknown>;
      const view = await ViewProcess.start(running.workspace, [id]);
      const { page, faults } = await opened(`${view.line.url}&tab=conversation`);
      await page.locator('.chip.live').waitFor();
      running.process.child.kill('SIGKILL');
      await running.process.ended;
      const again = await StandInCapsule.start(running.workspace, card);
      onTestFinished(() => again.close());
      const task = 'tsk_0123456789ab7000800000000000a001';
      const received = {
        task_id: task,
        context_id: 'ctx_1',
        origin: 'message',
        principal: 'local',
        text: 'Go on.',
        text_cut: false,
        queued: 0,
      };
      const frames = [
        ['task_received', received],
        ['task_started', { task_id: task, attempt: 1 }],
        ['question', { task_id: task, wait_id: 'q1', prompt: 'Still there?' }],
      ] as const;
      (await again.stream()).write(
        frames.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
      );
      await page.locator('.banner').getByText('Still there?').waitFor();
      expect(faults).toEqual([]);
    });
  },
);
