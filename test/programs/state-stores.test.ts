import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { onlySession, taskFile, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { calls, says, script, type ScriptedCall } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

type Edit = readonly [command: string, path: string, content?: string];

/** A script whose model edits files, one call after another. */
function edits(...made: readonly Edit[]): string {
  const called = made.map(([command, path, content], index): ScriptedCall => {
    const input = { command, path, ...(content === undefined ? {} : { content }) };
    return [`call_${index}`, 'svc-tool-editor', input];
  });
  return script(calls(called), says('Done.'));
}

function editor(capabilities: string): string {
  return `artifacts: [{ name: svc-tool-editor, version: 1.0.0${capabilities} }]\n`;
}

const notes = editor(', capabilities: { state: { store: notes } }');

/** What the tool answered, call by call, taken from what the model read. */
async function answers(workspace: Workspace): Promise<readonly unknown[]> {
  const { code, stderr } = await svc(workspace, ['run']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const trace = readTrace(tracePath(workspace, onlySession(workspace)));
  return trace.filter(({ event_type: type }) => type === 'tool_call').map(({ is_error: isError }) => isError);
}

function stored(workspace: Workspace, path: string): string {
  return readFileSync(join(workspace.home, '.svc/state', path), 'utf8');
}

/** A capsule that has the home of another. */
function besides(first: Workspace, second: Workspace): Workspace {
  return { ...second, home: first.home };
}

describe('a state store', () => {
  it('opens at /state/<store>, for its owner alone, and outlives the session', async () => {
    const workspace = capsule({
      manifest: notes,
      script: edits(['write', 'state/notes/deep/a.txt', 'first'], ['write', 'own.txt', 'here']),
      files: taskFile,
    });
    expect(await answers(workspace)).toEqual([false, false]);
    expect(stored(workspace, 'notes/deep/a.txt')).toBe('first');
    expect(statSync(join(workspace.home, '.svc/state/notes')).mode & 0o777).toBe(0o700);
    const workdir = join(workspace.folder, 'workdir', onlySession(workspace));
    expect(readFileSync(join(workdir, 'own.txt'), 'utf8')).toBe('here');
    expect(readdirSync(workdir)).not.toContain('state');
  });

  it('serves two capsules that name it', async () => {
    const first = capsule({
      manifest: notes,
      script: edits(['write', 'state/notes/a.txt', 'shared']),
      files: taskFile,
    });
    expect(await answers(first)).toEqual([false]);
    const second = besides(
      first,
      capsule({
        manifest: notes,
        script: edits(['read', 'state/notes/a.txt'], ['write', 'state/notes/b.txt', 'too']),
        files: taskFile,
      }),
    );
    expect(await answers(second)).toEqual([false, false]);
    expect(readdirSync(join(first.home, '.svc/state/notes')).toSorted()).toEqual(['a.txt', 'b.txt']);
  });

  it('stays one of several where several are named, and none of them reaches another or out', async () => {
    const workspace = capsule({
      manifest: editor(', capabilities: { state: { store: [notes, tasks] } }'),
      script: edits(
        ['write', 'state/notes/a.txt', 'a note'],
        ['write', 'state/tasks/a.txt', 'a task'],
        ['read', 'state/notes/../others/a.txt'],
        ['read', 'state/notes/link/a.txt'],
        ['read', 'state/others/a.txt'],
      ),
      files: taskFile,
    });
    mkdirSync(join(workspace.home, '.svc/state/notes'), { recursive: true });
    mkdirSync(join(workspace.home, '.svc/state/others'));
    writeFileSync(join(workspace.home, '.svc/state/others/a.txt'), 'of others');
    symlinkSync('../others', join(workspace.home, '.svc/state/notes/link'));
    expect(await answers(workspace)).toEqual([false, false, true, true, true]);
    expect([stored(workspace, 'notes/a.txt'), stored(workspace, 'tasks/a.txt')]).toEqual(['a note', 'a task']);
  });

  it('has the name of the capsule where no name is given, also by the capsule as a whole', async () => {
    const workspace = capsule({
      manifest: `${editor('')}capabilities: { state: {} }\n`,
      script: edits(['write', 'state/demo/a.txt', 'mine']),
      files: taskFile,
    });
    expect(await answers(workspace)).toEqual([false]);
    expect(stored(workspace, 'demo/a.txt')).toBe('mine');
  });

  it('hides a directory of the same name in the workdir, and nothing else there', async () => {
    const workspace = capsule({
      manifest: notes,
      script: edits(
        ['write', 'state/notes/a.txt', 'stored'],
        ['write', 'state/mine.txt', 'in the workdir'],
        ['read', 'state/notes/mine.txt'],
      ),
      files: taskFile,
    });
    const work = join(workspace.folder, 'work');
    mkdirSync(join(work, 'state/notes'), { recursive: true });
    writeFileSync(join(work, 'state/notes/mine.txt'), 'of the workdir');
    const { code } = await svc(workspace, ['run', '--workdir', work]);
    expect(code).toBe(0);
    expect(readdirSync(join(workspace.home, '.svc/state/notes'))).toEqual(['a.txt']);
    expect(readFileSync(join(work, 'state/mine.txt'), 'utf8')).toBe('in the workdir');
    expect(readdirSync(join(work, 'state/notes'))).toEqual(['mine.txt']);
  });

  it('can be written where the files of the capsule are read-only', async () => {
    const workspace = capsule({
      manifest: `${notes}capabilities: { filesystem: { read_only: true } }\n`,
      script: edits(['write', 'state/notes/a.txt', 'kept'], ['write', 'a.txt', 'refused']),
      files: taskFile,
    });
    expect(await answers(workspace)).toEqual([false, true]);
    expect(stored(workspace, 'notes/a.txt')).toBe('kept');
  });

  it('fails when it is a link, before anything runs', async () => {
    const workspace = capsule({ manifest: notes, files: taskFile });
    mkdirSync(join(workspace.home, '.svc/state'), { recursive: true });
    mkdirSync(join(workspace.home, 'private'));
    symlinkSync(join(workspace.home, 'private'), join(workspace.home, '.svc/state/notes'));
    const { code, stdout, stderr } = await svc(workspace, ['run', '--json']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `error[E-CAP-017]: the state store notes is not a directory of ${join(workspace.home, '.svc/state')}\n` +
        `hint: a link or a file stands in the place of ${join(workspace.home, '.svc/state/notes')} or above it: remove it\n`,
    );
  });

  it.each([
    ['declares one', ', capabilities: { state: { store: notes } }', '', 'notes'],
    ['inherits that of its capsule', '', 'capabilities: { state: {} }\n', 'demo'],
  ])('reaches a native tool that %s, and is made again where it was removed', async (_, own, capsules, store) => {
    const count = (id: string): ScriptedCall => [id, 'counter', {}];
    const workspace = capsule({
      manifest: `artifacts: [{ name: counter, version: 1.0.0, source: ./counter${own} }]\n${capsules}`,
      script: script(calls([count('first'), count('second')]), says('Done.')),
      files: {
        ...taskFile,
        'counter/svc.yaml': 'name: counter\nversion: 1.0.0\nruntime: tool\nimplementation: native\n',
        'counter/bin/counter': `#!/bin/sh
cat > /dev/null
echo called >> calls
if [ "$(wc -l < calls)" -eq 1 ]; then rm -r "$SVC_STATE/${store}"; else cp calls "$SVC_STATE/${store}/calls"; fi
echo '{"status":"passed","content":""}'
`,
      },
    });
    chmodSync(join(workspace.folder, 'counter/bin/counter'), 0o755);
    expect(await answers(workspace)).toEqual([false, false]);
    expect(stored(workspace, `${store}/calls`)).toBe('called\ncalled\n');
    expect(statSync(join(workspace.home, '.svc/state', store)).mode & 0o777).toBe(0o700);
  });

  it('fails for a native tool when it became a link while the session runs', async () => {
    const workspace = capsule({
      manifest: 'artifacts: [{ name: planter, version: 1.0.0, source: ./planter }]\ncapabilities: { state: {} }\n',
      script: script(
        calls([
          ['first', 'planter', {}],
          ['second', 'planter', {}],
        ]),
        says('Done.'),
      ),
      files: {
        ...taskFile,
        'planter/svc.yaml': 'name: planter\nversion: 1.0.0\nruntime: tool\nimplementation: native\n',
        'planter/bin/planter': `#!/bin/sh
cat > /dev/null
rm -r "$SVC_STATE/demo"
ln -s .. "$SVC_STATE/demo"
echo '{"status":"passed","content":""}'
`,
      },
    });
    chmodSync(join(workspace.folder, 'planter/bin/planter'), 0o755);
    expect(await answers(workspace)).toEqual([false, true]);
  });

  it('appears in the scope report, and no workdir lies in it', async () => {
    const workspace = capsule({ manifest: notes, files: taskFile });
    const report = await svc(workspace, ['run', '--explain-scope']);
    expect(report.stdout).toContain(
      'svc-tool-editor (tool)      (the whole workdir), read and write; the state store notes, read and write\n',
    );
    const inside = join(workspace.home, '.svc/state/notes');
    const { code, stderr } = await svc(workspace, ['run', '--workdir', inside]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-RUN-029\]/);
  });
});
