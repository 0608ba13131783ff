import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { acme } from '../../packages/artifacts/test/trust/trust-kit.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { SkillRegistry } from '../support/published-skills.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

let workspace: Workspace;
let registry: SkillRegistry;
beforeEach(async () => {
  registry = await SkillRegistry.open();
  await registry.publish('tone', '1.0.0');
  workspace = capsule({ files: taskFile });
  workspace.write('style/svc.yaml', 'name: style\nversion: 1.0.0\nruntime: skill\n');
  workspace.write('style/skill.md', 'Be brief.');
  mkdirSync(join(workspace.home, '.svc'), { recursive: true });
  writeFileSync(join(workspace.home, '.svc', 'acme.pub'), acme.publicPem);
  const rule = '{ names: ["tone"], signed_by: { key: acme }, mode: warn }';
  writeFileSync(
    join(workspace.home, '.svc', 'config.yaml'),
    `trust: { keys: { acme: ./acme.pub }, rules: [${rule}] }\n`,
  );
});

describe('a command that needs a folder for a moment', () => {
  it.each([
    ['svc-publish-', ['publish', 'style', '--registry', 'local']],
    ['svc-info-', ['info', 'tone@1.0.0']],
    ['svc-plan-', ['add', 'tone', '--dry-run']],
  ])('says where it cannot make %s…, and removes what a killed one left', async (prefix, args) => {
    const nowhere = join(workspace.home, 'nowhere');
    const refused = await svc(workspace, args, { env: { ...registry.env, TMPDIR: nowhere } });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `error[E-IO-001]: cannot make a folder in ${nowhere}: no such file or directory\n`,
    ]);
    const temporary = join(workspace.home, 'temporary');
    const left = join(temporary, `${prefix}AAAAAA`);
    mkdirSync(left, { recursive: true });
    const daysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
    utimesSync(left, daysAgo, daysAgo);
    expect((await svc(workspace, args, { env: { ...registry.env, TMPDIR: temporary } })).code).toBe(0);
    expect([existsSync(left), readdirSync(temporary)]).toEqual([false, []]);
  });
});
