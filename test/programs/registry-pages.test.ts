import { execFileSync } from 'node:child_process';

import { type Browser, chromium as browsers } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';

import { manifestText, archiveBytes, temporaryDirectory } from '../../packages/artifacts/test/store/artifacts.ts';
import { key } from '../../packages/registry/test/registry-kit.ts';
import { chromium } from '../support/chromium.ts';
import { SkillRegistry } from '../support/published-skills.ts';

/** Closed after the test. It may run as root, where Chromium has no sandbox of its own. */
async function openBrowser(): Promise<Browser> {
  const executablePath = execFileSync('which', [chromium ?? ''], { encoding: 'utf8' }).trim();
  const browser = await browsers.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  onTestFinished(async () => await browser.close());
  return browser;
}

const patience = { timeout: 60_000 };

describe.skipIf(chromium === undefined)('the pages of svc-registry in Chromium (skipped without it)', patience, () => {
  it('lead from the list to a version, break no rule of their policy, and run nothing of others', async () => {
    const registry = await SkillRegistry.start(temporaryDirectory());
    await registry.publish('tone', '1.0.0');
    const description = JSON.stringify('<script>alert(1)</script><style>*{display:none}</style>');
    const archive = await archiveBytes([
      {
        name: 'svc.yaml',
        data: Buffer.from(manifestText({ name: 'odd', version: '1.0.0', runtime: 'skill', description })),
      },
      { name: 'skill.md', data: Buffer.from('Be odd.') },
    ]);
    const published = await registry.ask('POST /v1/artifacts?name=odd&version=1.0.0&runtime=static', archive);
    expect(published.status).toBe(201);
    const browser = await openBrowser();
    const page = await browser.newPage({ httpCredentials: { username: 'anyone', password: key } });
    const faults: string[] = [];
    const asked: string[] = [];
    page.on('console', (message) => faults.push(message.text()));
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('dialog', (dialog) => void faults.push(dialog.message()));
    page.on('request', (request) => asked.push(request.url().replace(registry.url, '')));
    await page.goto(`${registry.url}/-/`);
    expect(await page.locator('tbody tr').count()).toBe(2);
    // The style of the page is in force.
    expect(await page.evaluate('getComputedStyle(document.querySelector("table")).borderCollapse')).toBe('collapse');
    await page.getByRole('searchbox').fill('odd');
    await page.getByRole('button').click();
    await page.getByText('one artifact').waitFor();
    await page.getByRole('link', { name: 'odd' }).click();
    await page.getByRole('link', { name: '1.0.0' }).click();
    await page.getByRole('heading', { name: 'odd@1.0.0' }).waitFor();
    expect(await page.getByText('<script>alert(1)</script>').isVisible()).toBe(true);
    expect(faults).toEqual([]);
    expect(asked).toEqual(['/-/', '/-/?q=odd', '/-/odd', '/-/odd/1.0.0']);
  });
});
