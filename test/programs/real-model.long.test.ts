/** Runs svc with a real model: llama.cpp's server and SmolLM2 with 135 million parameters, on one core. */

import { afterAll, describe, expect, it, onTestFinished } from 'vitest';

import { startRealModel } from '../support/real-model.ts';
import { svc } from '../support/svc-process.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const model = await startRealModel();
const why = typeof model === 'string' ? ` (needs Python and two packages: ${model})` : '';
const capsules = useStreamedCapsules();

afterAll(async () => {
  if (typeof model !== 'string') await model.close();
});

describe.skipIf(typeof model === 'string')(
  `a real model${why}`,
  () => {
    if (typeof model === 'string') return;
    const { endpoint, isBusy } = model;

    function manifest(maxTokens: number, lifecycle = ''): string {
      const inference = `model: smol\n  endpoint: "${endpoint}"\n  max_tokens: ${maxTokens}\n  driver: { artifact: svc-driver-openai }`;
      return `name: real\nversion: 1.0.0\ninference:\n  ${inference}\n${lifecycle}`;
    }

    function workspaceOf(files: Readonly<Record<string, string>>): Workspace {
      const workspace = makeWorkspace(files);
      onTestFinished(() => workspace.remove());
      return workspace;
    }

    it('answers a task, and the result has its words and what was used', async () => {
      const workspace = workspaceOf({ 'svc.yaml': manifest(24) });
      const { code, stdout } = await svc(workspace, ['-p', 'Say hello.', '--trust', '--output', 'json']);
      const result = JSON.parse(stdout) as { answer: string; usage: { input_tokens: number; output_tokens: number } };
      expect(code).toBe(0);
      expect(result.answer).toMatch(/\w/);
      expect(result.usage.input_tokens).toBeGreaterThan(10);
      expect(result.usage.output_tokens).toBeGreaterThan(0);
      expect(result.usage.output_tokens).toBeLessThanOrEqual(24);
    });

    it('answers a task without a manifest', async () => {
      const workspace = workspaceOf({ 'readme.md': '# Pears\n' });
      const env = { SVC_MODEL: `${endpoint}/smol` };
      const { code, stdout, stderr } = await svc(workspace, ['Say hello.'], { env });
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      expect(stdout).toMatch(/\w/);
    });

    it('streams its words, and goes on a conversation', async () => {
      const threaded = 'lifecycle: { task_acceptance: queue, after_task: sleep, conversation: threaded }\n';
      const capsule = await capsules.from(makeWorkspace({ 'svc.yaml': manifest(24, threaded) }));
      const stream = await capsule.submit('Count from one to ten.', 'talk');
      await stream.until(({ data }) => (data as { final?: boolean }).final === true);
      expect(stream.frames.filter(({ event }) => event === 'text').length).toBeGreaterThan(3);
      await capsule.send('And now backwards.', 'talk');
      await expect.poll(() => capsule.trace.filter((line) => line['event_type'] === 'task_end').length).toBe(2);
      const [first, second] = capsule.trace.filter((line) => line['event_type'] === 'inference');
      const tokens = (line: unknown): number => (line as { usage: { input_tokens: number } }).usage.input_tokens;
      expect(tokens(second)).toBeGreaterThan(tokens(first) + 10);
    });

    it('stops generating when its task is canceled', async () => {
      const capsule = await capsules.from(makeWorkspace({ 'svc.yaml': manifest(1900, staysUp) }));
      const stream = await capsule.submit('Tell a very long story.');
      const { data } = await stream.until(({ event }) => event === 'text');
      expect(await isBusy()).toBe(true);
      await capsule.rpc('tasks/cancel', { id: (data as { id: string }).id });
      await expect.poll(isBusy, { timeout: 30_000 }).toBe(false);
    });

    it('says that the task is too long for its context, once', async () => {
      const workspace = workspaceOf({ 'svc.yaml': manifest(24) });
      const { code, stderr } = await svc(workspace, ['-p', 'pear '.repeat(4000), '--trust']);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(
        /exceeds the available context size[^]*\nhint: the conversation is longer than the model takes/,
      );
      expect(stderr).not.toMatch(/attempt 2/);
    });
  },
  600_000,
);
