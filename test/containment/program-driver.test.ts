import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { doing, standInCapsule, type StandInName, type StandInStep } from '../support/stand-in.ts';
import { StreamedCapsule } from '../support/streamed-capsule.ts';
import { advisory, asOneself, type Setup } from './contained-capsule.ts';
import { needsPrograms } from './use-capsule.ts';

const setups: readonly Setup<ContainmentClass>[] = [...asOneself, ...advisory.filter(({ uid }) => uid === null)];

interface Wish {
  readonly name: StandInName;
  readonly setup: Setup<ContainmentClass>;
  /** Lines below `capabilities:`, as YAML. */
  readonly capabilities: string;
}

/** Skips the test where the host lacks the class, which is a failure where nothing may be lacking. */
async function open(context: TestContext, { name, setup, capabilities }: Wish): Promise<StreamedCapsule> {
  const { workspace, env } = standInCapsule(
    name,
    `lifecycle: { task_acceptance: queue, after_task: sleep }
artifacts: [{ name: look, version: 1.0.0, runtime: skill, source: ./look }]
capabilities:
  containment: ${setup.class}
  ${capabilities}
`,
  );
  const skill = join(workspace.folder, 'look');
  mkdirSync(skill);
  writeFileSync(join(skill, 'SKILL.md'), '---\ndescription: Looks.\nallowed-tools: Bash(sh:*)\n---\nLook.\n');
  try {
    const capsule = await StreamedCapsule.start(workspace, { ...env, SVC_CONTAINMENT_CEILING: setup.class });
    onTestFinished(async () => await capsule.dispose());
    return capsule;
  } catch (error) {
    workspace.remove();
    const refusal = /error\[E-CAP-003\].*/.exec(String(error))?.[0];
    if (refusal === undefined || process.env['REQUIRE_CONTAINMENT'] === 'sealed') throw error;
    context.skip(`needs a host that achieves ${setup.class}: ${refusal}`);
    throw new Error('a skipped test ends there', { cause: error });
  }
}

/** What the model says, in one task. */
async function reply(capsule: StreamedCapsule, ...steps: readonly StandInStep[]): Promise<string> {
  const { frames } = await (await capsule.submit(doing(...steps))).untilClosed();
  const last = frames.at(-1)?.data['status'];
  const said = frames.filter(({ event }) => event === 'text').map(({ data }) => String(data['text']));
  return `${JSON.stringify(last)}\n${said.join('')}`;
}

const completed = '{"state":"completed","message":"session ended"}';

describe.each(setups)('a program with a dialect of its own, in $name', (setup) => {
  it.for(['claude', 'codex'] as const)(
    'has its tools without a grant of the network, and those of a list after a skill: %s',
    async (name, context) => {
      const capsule = await open(context, { name, setup, capabilities: 'shell: { allow: [sh, ls] }' });
      const answer = await reply(capsule, { call: [['sh', { command: 'echo 42' }]] }, { sayAnswers: 1 });
      expect(answer).toBe(
        `${completed}\n<untrusted-content source=tool:sh>\ncommand: echo 42\nexit code: 0\nstdout:\n42\nstderr: (empty)\n</untrusted-content>`,
      );
      const started = await reply(capsule, { sayStart: 1 });
      const place = setup.class === 'sealed' ? '127.0.0.1:3128' : String.raw`127.0.0.1:\d+`;
      expect(started).toMatch(new RegExp(`http://${place}/mcp/[\\w-]{16}`));
      expect(started).not.toMatch(/HTTPS?_PROXY/i);
      const line = { call: [['sh', { command: 'ls .' }]] };
      const called = [line, { call: [['look', {}]] }, line, { call: [['ls', { command: '.' }]] }];
      const held = await reply(capsule, ...called, { sayAnswers: 1 });
      const ended = [...held.matchAll(/exit code: (\d+)/g)].map(([, code]) => code);
      expect(ended).toEqual(['0', setup.class === 'advisory' ? '0' : expect.stringMatching(/^12[67]$/)]);
      expect(held).toContain('failed: not allowed while the skill look is in use: it allows sh');
      // The next task begins with none.
      expect(await reply(capsule, line, { sayAnswers: 1 })).toContain('exit code: 0');
    },
  );
});

describe.each(setups.filter(({ class: wanted }) => wanted === 'sealed'))('its tool server, in $name', (setup) => {
  it('listens at the proxy of the program, and not at those of other processes', async (context) => {
    needsPrograms(context, 'curl');
    const capabilities = 'network: { allow: ["http://nowhere.invalid"] }\n  shell: { allow: [sh, curl] }';
    const capsule = await open(context, { name: 'claude', setup, capabilities });
    const path = /http:\/\/127\.0\.0\.1:3128(\/mcp\/[\w-]+)/.exec(await reply(capsule, { sayStart: 1 }))?.[1] ?? '';
    const straight = `curl -s -o /dev/null -w '%{http_code}' --noproxy '*' -X POST http://127.0.0.1:3128${path}`;
    const proxied = `curl -s -o /dev/null -w '%{http_code}' -X POST http://127.0.0.1:3128${path}`;
    for (const [command, own, other] of [
      [straight, '401', '400'],
      [proxied, '401', '403'],
    ] as const) {
      expect(await reply(capsule, { run: command }, { sayAnswers: 1 })).toBe(`${completed}\n${own}`);
      const asked = await reply(capsule, { call: [['sh', { command }]] }, { sayAnswers: 1 });
      expect(asked).toContain(`\nstdout:\n${other}\n`);
    }
  });
});
