import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { compileTimeoutMs } from '../../packages/components/test/support/hosted-tool.ts';
import { hookCapsule } from '../support/hook-capsule.ts';
import { hookErrors } from '../support/hook-trace.ts';
import { says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

interface Asking {
  readonly order: string;
  /** Lines of `inference`. */
  readonly inference?: string;
  readonly hook?: string;
}

/** A capsule whose hook asks the model, which always says `Done.` */
async function start({ order, inference = '', hook = '' }: Asking): Promise<StreamedCapsule> {
  const workspace = await hookCapsule({
    hooks: { critic: `binding: [on-inference, on-session-start]\n${hook}` },
    orders: order,
    manifest: staysUp,
    script: script(says('Done.')),
  });
  const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
  workspace.write('svc.yaml', manifest.replace('  model:', `${inference}  model:`));
  return await capsules.from(workspace);
}

function inferences({ trace }: StreamedCapsule): readonly unknown[] {
  return trace
    .filter((line) => line['event_type'] === 'inference')
    .map((line) => [line['hook_name'] ?? null, line['turn'], typeof line['task_id'], line['outcome']]);
}

/** The places at which hooks asked the model, as the journal has them (docs/journal.md "Steps"). */
function completionsIn({ workspace, line }: StreamedCapsule): readonly string[] {
  const journal = join(workspace.folder, '.svc', 'sessions', line.session_id, 'journal.jsonl');
  const lines = readFileSync(journal, 'utf8').split('\n').slice(0, -1);
  const records = lines.map((each) => JSON.parse(each) as { readonly k: string; readonly e?: string });
  return records.flatMap(({ k, e = '' }) => (k === 'start' && e.includes('/completion/') ? [e] : []));
}

async function artifactOf(capsule: StreamedCapsule): Promise<unknown> {
  const { frames } = await (await capsule.submit('Go.')).untilClosed();
  const artifact = frames.find(({ event }) => event === 'artifact');
  return (artifact?.data['artifact'] as { readonly content?: unknown } | undefined)?.content;
}

describe('svc:runtime/inference', { timeout: compileTimeoutMs }, () => {
  it('gives a hook the answer of the model of the capsule, and shows none of it on the streams', async () => {
    const capsule = await start({ order: '[[on-inference reply Well?]]', hook: 'commit_policy: artifact' });
    expect(await artifactOf(capsule)).toBe('Done.');
    const { frames } = await (await capsule.submit('Go.')).untilClosed();
    expect(frames.map(({ event }) => event)).toEqual(['status', 'text', 'artifact', 'status']);
    expect(inferences(capsule).slice(0, 2)).toEqual([
      [null, 1, 'string', 'response'],
      ['critic', 0, 'string', 'response'],
    ]);
    expect(hookErrors(capsule.trace)).toEqual([]);
  });

  it('fails at the ceiling of the session', async () => {
    const capsule = await start({
      order: '[[on-inference reply Well?]]',
      hook: 'commit_policy: artifact',
      inference: '  max_tokens: 100\n  max_session_tokens: 150\n',
    });
    expect(await artifactOf(capsule)).toMatch(
      /^refused: spend ceiling reached: \d+ of 150 session tokens used, the call may need \d+$/,
    );
    expect(inferences(capsule)).toEqual([[null, 1, 'string', 'response']]);
  });

  it('works outside of a task too', async () => {
    const capsule = await start({ order: '[[on-session-start complete-often]]' });
    await (await capsule.submit('Go.')).untilClosed();
    const made = inferences(capsule);
    expect(made.slice(0, 16)).toEqual(Array.from({ length: 16 }, () => ['critic', 0, 'object', 'response']));
    expect(made).toHaveLength(17);
    await capsule.terminate();
    expect(completionsIn(capsule).slice(0, 3)).toEqual([
      'session/completion/critic.2',
      'session/completion/critic.4',
      'session/completion/critic.6',
    ]);
  });
});
