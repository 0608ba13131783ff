import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { chromiumPath, closeBrowser, type OpenPage, openPage } from './support/browser.ts';
import { buildPage } from './support/page-document.ts';
import { StandInServer } from './support/stand-in-server.ts';

const at = 1_795_350_260_734;
const line = (type: string, seconds: number, fields: object): string =>
  JSON.stringify({ event_type: type, event_id: `evt_${type}_${seconds}`, timestamp: at + seconds * 1000, ...fields });
const ofTask = { task_id: 'tsk_1', turn: 1 };

function started(grants: object, tools: readonly string[] = []): string {
  return line('session_start', 0, {
    capsule: { name: 'c', version: '1' },
    containment: { declared: 'sealed', achieved: 'sealed', mechanism: 'm' },
    tools_declared: tools,
    effective_grants: grants,
  });
}

const ended = line('session_end', 90, { status: 'ok', tasks: 1, grant_evidence: { commands: {} } });
const connected = (host: string, port: number, connections: number): string =>
  line('egress', 80, { host, port, allowed: true, by: 'programs', connections, bytes_in: 1, bytes_out: 1 });

async function opened(trace: readonly string[]): Promise<OpenPage> {
  const server = await new StandInServer([{ id: 'ses_x', trace: `${trace.join('\n')}\n` }]).listen();
  onTestFinished(() => server.close());
  const page = await openPage(server.url('ses_x', '&tab=grants'));
  onTestFinished(page.close);
  await page.page.locator('table.grants').waitFor();
  return page;
}

/** What was granted, how often it was used, failed and was refused, and what is said of it. */
async function rowsOf({ page }: OpenPage): Promise<readonly string[]> {
  return await page
    .locator('table.grants tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => [1, 3, 4, 5, 6].map((cell) => row.children[cell]?.textContent ?? '').join(' | ')),
    );
}

describe.skipIf(chromiumPath === null)('the grants of a page (skipped without Chromium)', { timeout: 60_000 }, () => {
  beforeAll(async () => void (await buildPage()), 60_000);
  afterAll(closeBrowser);

  it('counts the connections to a host, whichever way it was granted', async () => {
    const open = await opened([
      started({ network_allow: ['localhost', 'http://127.0.0.1:45877', 'https://other.example'] }),
      connected('localhost', 45_877, 2),
      connected('localhost', 80, 1),
      connected('127.0.0.1', 45_877, 1),
      ended,
    ]);
    await expect
      .poll(() => rowsOf(open))
      .toEqual([
        'localhost | 3 | 0 | 0 | Show steps',
        'http://127.0.0.1:45877 | 1 | 0 | 0 | Show steps',
        'https://other.example | 0 | 0 | 0 | never used',
      ]);
    await open.page.getByRole('row', { name: 'localhost' }).getByRole('button').click();
    await open.page.locator('.tools output', { hasText: '2 lines' }).waitFor();
    expect(await open.page.locator('.step .name').allTextContents()).toEqual([
      'Connection localhost:45877',
      'Connection localhost:80',
    ]);
  });

  it('counts what has a long name', async () => {
    const [name, host] = ['n'.repeat(100), `${'h'.repeat(60)}.example.com`];
    const { page, ...open } = await opened([
      started({ shell_allow: [name], network_allow: [`${host}:443`] }, [name, `${name}t`]),
      line('shell', 1, { ...ofTask, command_name: name }),
      line('tool_call', 2, { ...ofTask, tool_name: `${name}t` }),
      connected(host, 443, 7),
      ended,
    ]);
    await expect
      .poll(() => rowsOf({ page, ...open }))
      .toEqual([
        `${name} | 1 | 0 | 0 | Show steps`,
        `${host}:443 | 7 | 0 | 0 | Show steps`,
        `${name}t | 1 | 0 | 0 | Show steps`,
      ]);
    await page.getByRole('row', { name: host }).getByRole('button').click();
    await page.locator('.tools output', { hasText: '1 line' }).waitFor();
    await page.locator('.step').click();
    await page.locator('.side h2', { hasText: `${host}:443` }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(1440);
  });

  it('does not say of a command that others may have started that it was never used', async () => {
    const shell = { shell_allow: ['sh', 'cat'], network_allow: ['a.example:443'] };
    const open = await opened([
      started(shell),
      line('shell', 1, { ...ofTask, command_name: 'sh', arguments: { command: 'cat a' } }),
      ended,
    ]);
    await expect
      .poll(() => rowsOf(open))
      .toEqual([
        'sh | 1 | 0 | 0 | Show steps',
        'cat | 0 | 0 | 0 | not called by the model',
        'a.example:443 | 0 | 0 | 0 | never used',
      ]);
    expect(await open.page.locator('.card', { hasText: 'never used' }).textContent()).toBe(
      'Granted and never used1of 2 grants whose use is recorded',
    );
    const unused = await opened([started(shell), ended]);
    await expect
      .poll(() => rowsOf(unused))
      .toEqual([
        'sh | 0 | 0 | 0 | never used',
        'cat | 0 | 0 | 0 | never used',
        'a.example:443 | 0 | 0 | 0 | never used',
      ]);
  });
});
