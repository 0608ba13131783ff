import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { calls } from '@svc/testing/fake-reply.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';

let opened: FirstMinute[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.dispose();
});

const skill = (description: string, head = ''): string => `---\ndescription: ${description}\n${head}---\nText of it.\n`;

/** A folder, and a home directory, with these files. */
function fresh(files: Readonly<Record<string, string>>, ofHome: Readonly<Record<string, string>> = {}): FirstMinute {
  const minute = new FirstMinute({ name: 'shop', ceiling: 'advisory' });
  opened.push(minute);
  minute.write(files);
  for (const [path, text] of Object.entries(ofHome)) {
    const target = join(minute.home, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
  return minute;
}

const offered = (minute: FirstMinute): readonly string[] =>
  minute.asked.tools.filter((name) => !name.startsWith('svc-'));

describe('svc "task" in a folder with skills', { timeout: 240_000 }, () => {
  it('offers none of them and reads none, and the first line says how many there are (skipped without python3)', async (context) => {
    context.skip(!hasPseudoTerminals(), 'needs python3');
    const minute = fresh(
      { '.claude/skills/review/SKILL.md': 'no skill' },
      { '.agents/skills/forms/SKILL.md': skill('d') },
    );
    await minute.plays();
    expect(await minute.svc(['say hello'])).toMatchObject({ code: 0, stderr: '' });
    expect(offered(minute)).toEqual([]);
    await minute.plays();
    const terminal = new TerminalProcess(minute.workspace, ['say hello'], {
      env: { OLLAMA_HOST: minute.model?.endpoint ?? '', SVC_MODEL: 'ollama/qwen3:8b' },
      columns: 200,
    });
    expect(await terminal.ended).toBe(0);
    const [row = ''] = terminal.terminal.rows;
    expect(row).toContain('./shop read only \u00B7 2 skills, taken with --skills \u00B7 no network');
  });

  it('offers those of the folder and of the home directory with --skills, and holds their lists', async () => {
    const minute = fresh(
      { '.agents/skills/Re_view/SKILL.md': skill('reviews', 'version: 2.1.0\nallowed-tools: Grep\n') },
      { '.claude/skills/forms/SKILL.md': skill('fills forms'), '.claude/skills/notes.md': '' },
    );
    await minute.plays(
      calls('re-view', {}, 'c1'),
      calls('svc-tool-editor', { command: 'read', path: 'project/x' }, 'c2'),
    );
    const { code, stderr } = await minute.svc(['--skills', 'say hello']);
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(offered(minute)).toEqual(['forms', 're-view']);
    expect(minute.asked.system).toContain('\nTools that begin with "Skill:" are texts that this person keeps');
    expect(minute.results[0]).toMatch(
      /^\[skill re-view 2\.1\.0\..*only these answer: svc-tool-editor search\]\nText of it\.$/,
    );
    expect(minute.results[1]).toContain('not allowed while the skill re-view is in use');
    const [session = ''] = minute.sessions;
    expect((await minute.svc(['run', '--replay', session])).stdout).toContain('the same except for ids and times');
    const { stdout } = await minute.svc(['--skills', '--explain-scope', 'x y']);
    expect(stdout).toContain('re-view@2.1.0');
  });

  it('leaves out what cannot be taken, and says why', async () => {
    const minute = fresh(
      {
        '.agents/skills/a/SKILL.md': skill('one'),
        '.claude/skills/a/SKILL.md': skill('another'),
        '.agents/skills/b/SKILL.md': skill('the same'),
        '.claude/skills/b/SKILL.md': skill('the same'),
        '.agents/skills/broken/SKILL.md': 'no head',
        '.agents/skills/secret/SKILL.md': skill('d'),
        '.agents/skills/secret/.env.local': 'KEY=1',
        '.agents/skills/submit-plan/SKILL.md': skill('d'),
      },
      { '.claude/skills/a/SKILL.md': skill('a third'), 'elsewhere/SKILL.md': skill('d') },
    );
    symlinkSync(join(minute.home, 'elsewhere'), join(minute.folder, '.agents/skills/away'));
    await minute.plays();
    const { code, stderr } = await minute.svc(['--skills', 'say hello']);
    expect(code).toBe(0);
    expect(offered(minute)).toEqual(['b']);
    const at = join(minute.folder, '.agents/skills');
    expect(stderr).toContain(`warning[W-RUN-211]: the skill in "${at}/broken" is left out:`);
    expect(stderr).toContain(`"${at}/secret" is left out: it has ".env.local", which no task is shown\n`);
    expect(stderr).toContain(`"${at}/submit-plan" is left out: submit-plan is the name of something else`);
    expect(stderr).toContain(
      `"${minute.folder}/.claude/skills/a" is left out: ${at}/a has the same name, and is left out too\n`,
    );
    expect(stderr).toContain(`"${at}/away" is left out: a link to it leads out of the folder\n`);
  });

  it('refuses --skills where there is a manifest', async () => {
    const minute = fresh({ 'svc.yaml': 'name: x\nversion: 1.0.0\n' });
    expect((await minute.svc(['--skills', 'say hello'])).stderr).toContain('--skills is for a task without a manifest');
  });
});
