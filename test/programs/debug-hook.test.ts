import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { scriptCapsule } from '../support/script-capsule.ts';
import { says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

describe('svc-hook-debug', () => {
  it('writes one line of JSON for every event of the session', async () => {
    const capsule = await capsules.script({
      manifest: `artifacts: [{ name: svc-hook-debug, version: 1.0.0, runtime: hook }]
capabilities: { shell: { allow: [echo] } }
lifecycle: { task_acceptance: queue, after_task: sleep }
`,
      script: script(
        {
          content: [{ type: 'tool_call', id: 'c1', name: 'echo', input: { command: 'two "wo rds"' } }],
          stop_reason: 'tool_call',
        },
        says('Done: é.'),
      ),
    });
    await (await capsule.submit('Go.', 'ctx-given')).untilClosed();
    expect(await capsule.terminate()).toMatchObject({ code: 0 });
    const { workspace, line } = capsule;
    const log = join(workspace.folder, '.svc', 'sessions', line.session_id, 'logs', 'hook-svc-hook-debug.log');
    const session = { session_id: line.session_id, capsule: 'demo', version: '1.2.3' };
    const task = { session, context_id: 'ctx-given', origin: 'message', trusted: false, attempt: 1 };
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
    expect(lines.map((each) => JSON.parse(each) as unknown)).toMatchObject([
      { event: 'on-stage', session, tools: [{ name: 'echo' }] },
      { event: 'on-session-start', session },
      { event: 'on-task-start', task, text: 'Go.' },
      { event: 'on-inference', task, turn: 1, model: 'scripted', stop_reason: 'tool_call' },
      {
        event: 'on-tool-call',
        task,
        turn: 1,
        tool: 'echo',
        call_id: 'c1',
        arguments: '{"command":"two \\"wo rds\\""}',
      },
      { event: 'on-shell', task, turn: 1, command: 'echo', args: ['two', 'wo rds'] },
      { event: 'on-inference', task, turn: 2, content: [{ tag: 'text', val: 'Done: é.' }], stop_reason: 'end_turn' },
      { event: 'on-task-end', task, state: 'completed', text: 'Done: é.' },
      { event: 'on-session-end', session, status: 'ok' },
    ]);
    expect(capsule.trace.filter((each) => each['event_type'] === 'hook_error')).toEqual([]);
  });

  it('leaves no key of the capsule in its log', async () => {
    const workspace = scriptCapsule({
      manifest: `artifacts: [{ name: svc-hook-debug, version: 1.0.0, runtime: hook }]\n${staysUp}`,
      script: script(says('It is sk-debugged-1.')),
    });
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', manifest.replace('  model:', '  api_key: ${PROVIDER_KEY}\n  model:'));
    const capsule = await capsules.from(workspace, { PROVIDER_KEY: 'sk-debugged-1' });
    await (await capsule.submit('What is sk-debugged-1?')).untilClosed();
    await capsule.terminate();
    const log = join(workspace.folder, '.svc', 'sessions', capsule.line.session_id, 'logs', 'hook-svc-hook-debug.log');
    const kept = readFileSync(log, 'utf8');
    expect(kept).toContain('"text":"What is [secret]?"');
    expect(kept).toContain('"val":"It is [secret]."');
    expect(kept).not.toContain('sk-debugged-1');
  });
});
