/** Holds the OpenAI door to what the clients of agent kits for JavaScript and Python make of its answers. */

import { execFile } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';

import { startObligingModel } from '../support/obliging-model.mjs';
import { pythonWith } from '../support/python-program.ts';
import { useStreamedCapsules } from '../support/streamed-capsule.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const run = promisify(execFile);

const kits = {
  '@ai-sdk/openai': '3.0.141',
  '@langchain/core': '1.4.0',
  '@langchain/openai': '1.5.8',
  '@openai/agents': '0.20.0',
  ai: '6.0.326',
};

const manifest = (endpoint: string): string => `name: demo
version: 1.2.3
inference: { model: m, endpoint: "${endpoint}", driver: { artifact: svc-driver-openai } }
lifecycle: { task_acceptance: queue, after_task: sleep, conversation: threaded }
`;

/** The base URL of a capsule whose model does what it is asked. */
async function obliged(): Promise<string> {
  const model = await startObligingModel();
  onTestFinished(() => model.close());
  const capsule = await capsules.from(makeWorkspace({ 'svc.yaml': manifest(model.endpoint) }));
  return `http://${capsule.line.url}/v1`;
}

describe('an agent kit reads answers, streams and failures of a capsule, and goes on a conversation', () => {
  it('for JavaScript', async () => {
    const workspace = makeWorkspace({});
    onTestFinished(() => workspace.remove());
    const { folder } = workspace;
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies: kits }));
    const options = ['--ignore-scripts', '--engine-strict=false', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options], { cwd: folder });
    copyFileSync(fileURLToPath(new URL('../fixtures/agent-kits.mjs', import.meta.url)), join(folder, 'agent-kits.mjs'));
    const asked = await run(process.execPath, ['agent-kits.mjs', await obliged()], { cwd: folder });
    const given = JSON.parse(asked.stdout) as Record<string, unknown>;
    for (const api of ['responses', 'chat']) {
      // The model repeats what was said first where it knows the conversation.
      expect(given[`agents ${api}`]).toEqual(['echo: hello', 'echo: hello']);
      expect(given[`agents ${api} streamed`]).toEqual(['echo: hello', 'echo: hello']);
      expect(given[`ai ${api}`]).toEqual(['echo: hello', 'stop', 'echo: hello']);
      expect(given[`ai ${api} streamed`]).toEqual(['echo: hello', 'stop']);
      expect(given[`langchain ${api}`]).toEqual(['echo: hello', 'echo: hello']);
      expect(given[`langchain ${api} streamed`]).toEqual(['echo: hello']);
      for (const kit of ['ai', 'langchain'])
        expect(given[`${kit} ${api} failed`]).toMatch(/^refused: .*the model is on holiday/);
    }
    // This client keeps the reason of a failed response to itself.
    expect(given['agents responses failed']).toMatch(/^refused: .*"response\.failed"/);
    expect(given['agents chat failed']).toMatch(/^refused: .*the model is on holiday/);
  }, 300_000);

  it('for Python', async (context) => {
    const ask = await pythonWith(context, 'openai-agents==0.24.0', 'langchain-openai==1.7.4');
    const program = fileURLToPath(new URL('../fixtures/agent-kits.py', import.meta.url));
    const given = JSON.parse(await ask(program, await obliged())) as Record<string, unknown>;
    for (const api of ['responses', 'chat']) {
      expect(given[`agents ${api}`]).toEqual(['echo: hello', 'echo: hello']);
      expect(given[`agents ${api} streamed`]).toEqual(['echo: hello', true]);
      expect(given[`langchain ${api}`]).toEqual(['echo: hello', 'echo: hello']);
      expect(given[`langchain ${api} streamed`]).toBe('echo: hello');
      for (const kit of ['agents', 'langchain'])
        expect(given[`${kit} ${api} failed`]).toMatch(/^refused: .*the model is on holiday/);
    }
  }, 300_000);
});
