import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { calling, obedientCapsule } from '../support/obedient-capsule.ts';
import { startObligingModel } from '../support/obliging-model.mjs';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { type Editor, type Update, useEditors } from './editor.ts';

const open = useEditors();

const grant = (project: string): string =>
  `artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\ncapabilities: { project: ${project} }\n`;

/** A repository with a manifest in it, unless `beside` it. */
function repository(project: string, { beside = false } = {}): { workspace: Workspace; shop: string } {
  const workspace = obedientCapsule('scribe', grant(project));
  const shop = beside ? join(dirname(workspace.folder), 'shop') : workspace.folder;
  mkdirSync(join(shop, 'src'), { recursive: true });
  writeFileSync(join(shop, 'src/cart.js'), 'total = 90\n');
  writeFileSync(join(shop, '.env'), 'TOKEN=of-the-person\n');
  return { workspace, shop: realpathSync(shop) };
}

async function edited(editor: Editor, session: string, input: object): Promise<readonly Update[]> {
  await editor.prompt(session, calling(['svc-tool-editor', input]));
  return editor.updates.filter(({ toolCallId }) => toolCallId !== undefined);
}

describe('the folder that is open in an editor', () => {
  it('becomes that of capabilities.project, with the manifest in it, and gets nothing of the session', async () => {
    const { workspace, shop } = repository('{ path: ., write: true }');
    const before = readdirSync(shop).toSorted();
    const editor = await open(workspace);
    const session = await editor.newSession(shop);
    const [started] = await edited(editor, session, { command: 'read', path: 'project/src/cart.js' });
    expect(started).toMatchObject({ locations: [{ path: join(shop, 'src/cart.js') }] });
    expect(JSON.stringify(editor.updates)).toContain('total = 90');
    const ended = (
      await edited(editor, session, {
        command: 'write',
        path: 'project/src/cart.js',
        content: 'total = 100\n',
      })
    ).at(-1);
    expect(ended).toMatchObject({
      status: 'completed',
      content: [{ type: 'diff', path: join(shop, 'src/cart.js'), oldText: 'total = 90\n', newText: 'total = 100\n' }],
    });
    for (const path of ['project/.env', 'project/svc.yaml'])
      expect((await edited(editor, session, { command: 'read', path })).at(-1)).toMatchObject({ status: 'failed' });
    expect(readFileSync(join(shop, 'src/cart.js'), 'utf8')).toBe('total = 100\n');
    expect(readdirSync(shop).toSorted()).toEqual(before);
  });

  it('goes to a capsule that names no path, read only unless it may write', async () => {
    const { workspace, shop } = repository('{}', { beside: true });
    const editor = await open(workspace);
    const session = await editor.newSession(shop);
    await edited(editor, session, { command: 'read', path: 'project/src/cart.js' });
    expect(JSON.stringify(editor.updates)).toContain('total = 90');
    const input = { command: 'write', path: 'project/src/new.js', content: '' };
    expect((await edited(editor, session, input)).at(-1)).toMatchObject({ status: 'failed' });
    expect(readdirSync(join(shop, 'src'))).toEqual(['cart.js']);
  });

  it('has to hold the one that the manifest names, or lie in it', async () => {
    const { workspace, shop } = repository('{ path: src }');
    const editor = await open(workspace);
    await edited(editor, await editor.newSession(shop), { command: 'read', path: 'project/cart.js' });
    expect(JSON.stringify(editor.updates)).toContain('total = 90');
    const elsewhere = join(dirname(shop), 'elsewhere');
    mkdirSync(elsewhere);
    await expect(editor.newSession(elsewhere)).rejects.toMatchObject({
      message: expect.stringMatching(/E-CAP-028.*names ".*src", and ".*elsewhere" is open in the editor/),
    });
  });

  it('keeps a thread, which another process goes on with', async () => {
    const model = await startObligingModel();
    onTestFinished(() => model.close());
    const inference = `inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }\n`;
    const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
    const workspace = makeWorkspace({
      'svc.yaml': `name: demo\nversion: 1.2.3\n${inference}${asker}capabilities: { project: { path: . } }\n`,
    });
    const first = await open(workspace);
    const sessionId = await first.newSession(workspace.folder);
    await first.prompt(sessionId, 'first of all');
    expect(await first.close()).toBe(0);
    expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
    const second = await open(workspace);
    const { sessions } = await second.request('session/list', { cwd: workspace.folder });
    expect(sessions).toMatchObject([{ sessionId, title: 'first of all' }]);
    expect(await second.request('session/load', { sessionId, cwd: workspace.folder, mcpServers: [] })).toEqual({});
    expect(await second.prompt(sessionId, 'recall')).toBe('end_turn');
    expect(second.said).toBe('echo: first of all');
  });
});
