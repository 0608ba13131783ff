import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';

import type { ProgramGate } from '@svc/sandbox/launch/process-grants.ts';
import type { LaunchOutcome } from '@svc/sandbox/launcher.ts';
import { openGate, tryGate } from './program-gate.ts';

type Rules = Parameters<typeof openGate>[0]['loaded']['manifest']['approvals'];

function launchWith(rules: NonNullable<Rules>['rules'], shellAllow: readonly string[] = ['sh']) {
  const approvals = { default: 'allow', opaque: 'ask', timeout: 600, answer: ['terminal'], rules };
  return { loaded: { manifest: { approvals } }, grants: { shellAllow, processDriver: null }, artifacts: [] } as never;
}

const push = { file: '/usr/bin/git', argv: ['git', 'push'], state: 'whole', isText: true } as const;

describe('the gate of a session', () => {
  it('opens if a rule is about programs and something could start one', () => {
    const told = { onProgramKilled: () => {} };
    const rules = [{ deny: { command: ['git', 'push'] } }];
    expect(openGate(launchWith(rules), told)?.names).toEqual(['git']);
    expect(openGate(launchWith(rules, []), told)).toBe(null);
    expect(openGate(launchWith([{ allow: { command: ['git'] } }, { ask: { tool: 'web' } }]), told)).toBe(null);
  });

  it('asks nobody outside of calls, where a rule that asks kills too, and tells of what it killed', async () => {
    const killed: string[] = [];
    const onProgramKilled = (...told: string[]): void => void killed.push(told.join(' by '));
    const gate = openGate(launchWith([{ ask: { command: ['git', 'push', '**'] } }]), { onProgramKilled });
    expect(await gate?.otherwise.judge(push)).toBe(false);
    expect(await gate?.otherwise.judge({ ...push, argv: ['git', 'status'] })).toBe(true);
    expect(await gate?.ofCall({ judge: async () => true }).judge(push)).toBe(true);
    expect(await gate?.ofCall({ judge: async () => false }).judge(push)).toBe(false);
    expect(killed).toEqual(['git push by approvals.rules[0]', 'git push by approvals.rules[0]']);
  });
});

/** The trial with a launcher whose programs wait as they do, or do not. */
async function tried(outcome: (gate: ProgramGate) => Promise<LaunchOutcome>): Promise<unknown> {
  const processes = {
    launcher: ({ gate }: { gate: ProgramGate }) => ({ launch: async () => await outcome(gate) }),
    environment: () => ({}),
  };
  const launch = { grants: { shellAllow: [], networkAllow: [], hostRead: [], filesystemScope: null }, project: null };
  return await tryGate({ launch, processes } as never).catch((error: unknown) => error);
}

function ran(stderr: string): LaunchOutcome {
  const ended = Promise.resolve({ kind: 'exited', exitCode: 0 } as const);
  const stdout = new PassThrough().end();
  return {
    kind: 'started',
    process: { pid: 1, stdin: null, stdout, stderr: Readable.from([Buffer.from(stderr)]), ended, kill: () => {} },
  };
}

describe('the trial before the first turn', () => {
  it('accepts a program that waits, and nothing else', async () => {
    const argv = ['true'];
    expect(
      await tried(async (gate) => {
        await gate.otherwise.judge({ ...push, argv });
        return ran('');
      }),
    ).toBe(undefined);
    expect(await tried(async () => ran('odd'))).toMatchObject({
      code: 'E-APR-004',
      message: expect.stringContaining('a program that was tried did not wait: odd'),
    });
    expect(await tried(async () => ({ kind: 'refused', reason: 'execs tracing answered EPERM' }))).toMatchObject({
      code: 'E-APR-004',
      message: expect.stringContaining('execs tracing answered EPERM'),
    });
  });
});
