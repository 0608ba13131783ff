/** Follows README.md: what it has a reader type does what it says, with scripted providers in place of the real ones. */

import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startFakeAnthropic } from '@svc/testing/fake-anthropic.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import type { FakeProvider } from '@svc/testing/fake-provider.ts';
import { says } from '@svc/testing/fake-reply.ts';
import { type Listing, sectionsOf } from './listings.ts';
import { type Ended, Reader } from './reader.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(checkout, 'README.md'), 'utf8');
const sections = sectionsOf(readme.replace('```yaml\n', '```yaml file=svc.yaml\n'));
const manifests = ['ollama', 'openai', 'anthropic'].map((name) => `examples/${name}/svc.yaml`);

/** In the order of the page: what one section leaves behind, the next one uses. */
describe('README.md', { timeout: 120_000 }, () => {
  let openai: FakeProvider;
  let anthropic: FakeProvider;
  let reader: Reader;

  beforeAll(async () => {
    openai = await startFakeOpenAi(['Start', 'Ollama', 'OpenAI', 'Rain', 'Snow'].map((text) => says(text)));
    anthropic = await startFakeAnthropic([says('Anthropic')]);
    reader = new Reader({ env: { SVC_MODEL: `${openai.endpoint}/qwen3:8b` } });
    const isFresh = (path: string): boolean => !/\/(workdir|\.svc|svc\.lock)$/.test(path);
    cpSync(join(checkout, 'examples'), join(reader.folder, 'examples'), { recursive: true, filter: isFresh });
    for (const path of manifests) reader.write(path, withFakes(readFileSync(join(checkout, path), 'utf8')));
  });
  afterAll(async () => {
    await reader.remove();
    await Promise.all([openai.close(), anthropic.close()]);
  });

  function withFakes(manifest: string): string {
    return manifest
      .replace(/http:\/\/localhost:11434|https:\/\/api\.openai\.com/, openai.endpoint)
      .replace('https://api.anthropic.com', anthropic.endpoint);
  }

  async function types(listing: Listing | undefined): Promise<Ended> {
    if (listing?.kind !== 'commands') throw new Error('the README has no command here');
    return await reader.type({ ...listing, text: listing.text.replaceAll('=…', '=key') });
  }

  function listingsOf(title: string): readonly Listing[] {
    return sections.find((section) => section.title === title)?.listings ?? [];
  }

  it('has listings in each of these sections', () => {
    expect(sections.map(({ title, listings }) => [title, listings.length])).toEqual([
      ['Start', 3],
      ['With a model', 1],
      ['A manifest', 1],
      ['Talk to it, and look at it', 1],
    ]);
  });

  // What it leaves on the PATH is what the test of that page tries.
  it('installs as docs/installing.md does', () => {
    const [install] = listingsOf('Start');
    if (install?.kind !== 'commands') throw new Error('the README does not say how to install');
    expect(readFileSync(join(checkout, 'docs/installing.md'), 'utf8')).toContain(`\n$ ${install.text}`);
  });

  it('answers a first question', async () => {
    expect(await types(listingsOf('Start')[1])).toEqual({ code: 0, output: 'Start\n' });
  });

  it('runs the agent that needs no model, and shows what it made and did', async () => {
    const hello = listingsOf('Start')[2];
    if (hello?.kind !== 'commands') throw new Error('the README has no agent without a model');
    const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
      scripts: { hello: string };
    };
    const [, script = ''] = /&& sh (scripts\/\S+)$/.exec(scripts.hello) ?? [];
    const run = `sh ${join(checkout, script)}`;
    const { code, output } = await types({ ...hello, text: hello.text.replace('npm run hello', run) });
    // The work, the answer, the next command, and then what the work made.
    expect({ code, output }).toEqual({
      code: 0,
      output: expect.stringMatching(
        /\n\$ wc -w greeting\.txt [^]*\n│ The greeting is in greeting\.txt and has ten words\.\n[^]*\n {2}svc view [^]*\nWelcome; /,
      ),
    });
  });

  it('runs an agent with each kind of model', async () => {
    const { code, output } = await types(listingsOf('With a model')[0]);
    expect({ code, ends: output.match(/^status: {2}ok$/gm)?.length }).toEqual({ code: 0, ends: 3 });
    expect([openai.requests.length, anthropic.requests.length]).toEqual([3, 1]);
  });

  it('talks to the capsule of the manifest that it shows', async () => {
    const [manifest] = listingsOf('A manifest');
    if (manifest?.kind !== 'file') throw new Error('the README shows no manifest');
    reader.write(manifest.path, withFakes(manifest.text));
    const { code, output } = await types(listingsOf('Talk to it, and look at it')[0]);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^Rain\n.*"result":\{"id":"tsk_/s) });
  });
});
