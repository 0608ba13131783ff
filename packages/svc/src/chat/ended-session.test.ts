import { describe, expect, it } from 'vitest';

import { capsuleText, type TaskGrants } from '../run/first-minute/capsule-text.ts';
import { namesServers } from './ended-session.ts';

/** The manifest of a task with these servers and skills. */
function manifestOf(more: Pick<TaskGrants, 'servers' | 'skills'>): string {
  const grants: TaskGrants = {
    commands: ['sh'],
    hosts: [],
    variables: [],
    reads: [],
    folder: 'read',
    keepsGit: true,
    floor: 'scoped',
    editor: 'read',
    ...more,
  };
  const model = { driver: 'svc-driver-openai', endpoint: 'http://localhost:1', keyVariable: null, model: 'm' } as const;
  return capsuleText('task', [], { model, grants });
}

const skill = { name: 'release', version: '0.0.0', source: '/home/me/.agents/skills/release' };
const program = { name: 'notes', source: '/home/me/x, runtime: skill, y', runs: ['node'], variables: [] };
const onTheWeb = { name: 'far', version: '0.0.0', from: 'mcp+https://mcp.example.com/mcp', auth: null };

describe('the manifest of a task that goes on', () => {
  it.each([
    ['nothing', {}, false],
    ['a skill', { skills: [skill] }, false],
    ['a server that is a program', { servers: [program] }, true],
    ['a server on the web, beside a skill', { servers: [onTheWeb], skills: [skill] }, true],
  ])('names servers where the task had some, as with %s', (_, more, isNamed) => {
    expect(namesServers(manifestOf(more))).toBe(isNamed);
  });
});
