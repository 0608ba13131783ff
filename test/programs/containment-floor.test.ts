import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { snapshot } from '../support/folder-snapshot.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();

/** Makes any host too weak for a floor above `advisory`. */
const weak = { SVC_CONTAINMENT_CEILING: 'advisory' };

interface Floors {
  readonly manifest?: string;
  readonly workspace?: string;
  readonly flag?: string;
}

function capabilities({ manifest }: Floors): string {
  return manifest === undefined ? '' : `capabilities: { containment: ${manifest} }\n`;
}

function configuration({ workspace }: Floors): Readonly<Record<string, string>> {
  return workspace === undefined ? {} : { '.svc/config.yaml': `containment: ${workspace}\n` };
}

function flags({ flag }: Floors): readonly string[] {
  return flag === undefined ? [] : ['--containment', flag];
}

describe('the containment floor', () => {
  it.each<[declared: string, floors: Floors]>([
    ['scoped', { manifest: 'scoped' }],
    ['sealed', { workspace: 'sealed' }],
    ['scoped', { flag: 'scoped' }],
    ['sealed', { manifest: 'sealed', workspace: 'scoped', flag: 'advisory' }],
    ['sealed', { manifest: 'scoped', workspace: 'sealed', flag: 'scoped' }],
    ['sealed', { manifest: 'advisory', workspace: 'scoped', flag: 'sealed' }],
  ])(
    'comes out as %s, the strongest of %j, and refuses a host below it [D1-MAN-18, D1-CONF-01, D1-CLI-12, D1-CLI-18, D1-CLI-19, D1-MECH-05, D1-ERR-02, D1-ERR-03, D1-ERR-04]',
    async (declared, floors) => {
      const workspace = capsule({ manifest: capabilities(floors), files: { ...taskFile, ...configuration(floors) } });
      const { code, stdout, stderr } = await svc(workspace, ['run', ...flags(floors)], { env: weak });
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      const [message, hint, ...rest] = stderr.split('\n');
      expect(message?.replace(/ \(.+\)$/, ' (reason)')).toBe(
        `error[E-CAP-003]: the containment floor cannot be met: declared ${declared}, achieved advisory (reason)`,
      );
      expect(hint).toBe(`hint: lower the floor to advisory, or run on a host that achieves ${declared}`);
      expect(rest).toEqual(['']);
    },
  );

  it('refuses before anything is made, fetched, compiled or bound, and whatever else is wrong [D1-CLI-21, D1-CLI-22, D1-ERR-05]', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as { port: number };
    const workspace = capsule({
      manifest: `artifacts: [{ name: ghost, version: 9.9.9 }, { name: svc-tool-editor, version: 1.0.0 }]
network: { internal_port: ${port} }
lifecycle: { task_acceptance: none }
`,
    });
    // What the host was found to do is kept for the user.
    await svc(workspace, ['run', '--explain-scope'], { env: weak });
    const before = snapshot(workspace);
    const args = ['run', '--json', '--workdir', 'work', '--containment', 'sealed'];
    const { code, stdout, stderr } = await svc(workspace, args, { env: weak });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.match(/^error\[.*?\]/gm)).toEqual(['error[E-CAP-003]']);
    expect(snapshot(workspace)).toEqual(before);
    holder.close();
    await once(holder, 'close');
  });

  it('stands in one report with the other parts that keep the capsule from being started', async () => {
    const workspace = capsule({ manifest: 'artifacts: [{ name: guard, version: 1.0.0, runtime: hook }]\n' });
    const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', text.replace('model: scripted', 'model: scripted\n  system_prompt_file: none.md'));
    const { code, stderr } = await svc(workspace, ['run', '--containment', 'scoped'], { env: weak });
    expect(code).toBe(1);
    expect(stderr.match(/^error\[.*?\]/gm)).toEqual(['error[E-RUN-009]', 'error[E-CAP-003]']);
  });

  it.each<[floors: Floors]>([[{}], [{ manifest: 'advisory', workspace: 'advisory', flag: 'advisory' }]])(
    'becomes advisory where %j declares no more, which every host meets [D1-MAN-19]',
    async (floors) => {
      const workspace = capsule({ manifest: capabilities(floors), files: { ...taskFile, ...configuration(floors) } });
      const { code, stdout } = await svc(workspace, ['run', ...flags(floors)], { env: weak });
      expect(code).toBe(0);
      expect(stdout).toMatch(/\nstatus: {2}ok\n$/);
      const [start] = readTrace(tracePath(workspace, onlySession(workspace)));
      expect(start).toMatchObject({ containment: { declared: 'advisory', achieved: 'advisory' } });
    },
  );

  it('fails as a flag without a class, and the refusal names the classes', async () => {
    const { code, stdout, stderr } = await svc(capsule({ files: taskFile }), ['run', '--containment', 'strong']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("argument 'strong' is invalid. Allowed choices are advisory, scoped, sealed.");
  });

  it('fails in the workspace without a class, and the refusal names file and line', async () => {
    const workspace = capsule({ files: { ...taskFile, '.svc/config.yaml': '# floors\ncontainment: strong\n' } });
    const before = snapshot(workspace);
    const { code, stdout, stderr } = await svc(workspace, ['run']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-MAN-003\]: containment .*advisory.*scoped.*sealed/);
    expect(stderr).toContain('.svc/config.yaml:2:14\n');
    expect(snapshot(workspace)).toEqual(before);
  });

  it('counts as missed when the ceiling is no class, and .env sets none', async () => {
    const workspace = capsule({ files: { ...taskFile, '.env': 'SVC_CONTAINMENT_CEILING=strong\n' } });
    const before = snapshot(workspace);
    const { code, stdout, stderr } = await svc(workspace, ['run'], { env: { SVC_CONTAINMENT_CEILING: 'strong' } });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-CAP-004\]: SVC_CONTAINMENT_CEILING is "strong", which is no containment class\n/);
    expect(snapshot(workspace)).toEqual(before);
    expect((await svc(workspace, ['run'], { env: weak })).code).toBe(0);
    expect((await svc(workspace, ['run'])).code).toBe(0);
  });
});
