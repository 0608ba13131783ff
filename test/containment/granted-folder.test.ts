import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { advisory, asOneself, printed, scoped, sealed, shell, type Setup } from './contained-capsule.ts';
import { calls, says, useFormations } from '../support/formation.ts';
import { eachFolder } from '../support/each-folder.ts';
import { openCapsule, useCapsule } from './use-capsule.ts';

const files = {
  'src/cart.js': 'total = 90\n',
  '.env': 'TOKEN=of-the-person\n',
  'src/.env.local': 'TOKEN=of-the-person\n',
  'keys.txt': 'of-the-person\n',
  'private/deep/notes': 'of-the-person\n',
};
const editor = 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\n';
const commands = 'shell: { allow: [bash, cat, ls, mv, rm, sh] }';

/** The words of tools for a file that is masked or read only. */
const refusal = /may not be accessed|read-only/;

function edit(id: string, input: Readonly<Record<string, string>>): ReturnType<typeof shell> {
  return { id, tool: 'svc-tool-editor', input };
}

const setups: readonly Setup[] = [...sealed, ...scoped];

describe.each(setups)('the folder of capabilities.project in $name', (setup) => {
  const capsule = useCapsule(setup, {
    manifest: editor,
    files,
    calls: [
      shell('read', 'cat src/cart.js'),
      shell('list', 'ls -A'),
      shell('make', 'echo new > src/new; ls src'),
      shell('home', 'echo own > $HOME/own; cat $HOME/own'),
      ...['.env', 'src/.env.local', 'keys.txt', 'private/deep/notes', 'link', 'svc.yaml'].map((path) =>
        shell(path, `cat ${path}`),
      ),
      edit('open', { command: 'read', path: 'project/src/cart.js' }),
      edit('keys', { command: 'read', path: 'project/keys.txt' }),
      edit('manifest', { command: 'read', path: 'project/svc.yaml' }),
      edit('create', { command: 'write', path: 'project/src/new', content: 'new' }),
    ],
    capabilities: `project: { path: ., mask: [keys.txt, private] }\n${commands}`,
    prepare: ({ folder }) => {
      symlinkSync('private/deep/notes', join(folder, 'link'));
      return {};
    },
  });

  it.for([
    ['is where commands start', 'read', printed('total = 90\n')],
    [
      'shows the names of all that it holds',
      'list',
      printed('.env\nkeys.txt\nlink\nprivate\nscript.yaml\nsrc\nsvc.yaml\n'),
    ],
    ['leaves commands a place of their own', 'home', printed('own\n')],
  ] as const)('%s', async ([, id, shown], context) => {
    expect((await capsule(context).result(id)).text).toBe(shown);
  });

  it('takes no file of a command', async (context) => {
    const { text } = await capsule(context).result('make');
    expect(text).toMatch(/Read-only file system|Permission denied/);
    expect(existsSync(join(capsule(context).workspace.folder, 'src/new'))).toBe(false);
  });

  it.for(['.env', 'src/.env.local', 'keys.txt', 'private/deep/notes', 'link', 'svc.yaml'])(
    'keeps %s from commands',
    async (path, context) => {
      const { text } = await capsule(context).result(path);
      expect(text).toMatch(/^exit code: 1\n/);
      expect(text).not.toContain('of-the-person');
      expect(text).not.toContain('capabilities');
    },
  );

  it('shows the editor the same and keeps the same from it', async (context) => {
    const result = async (id: string): Promise<{ readonly text: string }> => await capsule(context).result(id);
    expect((await result('open')).text).toContain('total = 90');
    for (const id of ['keys', 'manifest', 'create']) expect((await result(id)).text).toMatch(refusal);
    expect(existsSync(join(capsule(context).workspace.folder, 'src/new'))).toBe(false);
  });

  it('stays as it was, with the session in the home', async (context) => {
    const { workspace, line, stream } = capsule(context);
    await stream.untilClosed();
    for (const name of ['.svc', 'workdir', 'task.md', 'out', 'svc.lock'])
      expect(existsSync(join(workspace.folder, name))).toBe(false);
    expect(line.workdir.startsWith(join(workspace.home, '.svc', 'folders', 'project-'))).toBe(true);
    expect(readFileSync(join(line.workdir, 'out/result.txt'), 'utf8')).toBe('Done.');
  });
});

describe.each(sealed)('a folder that may be changed, in $name', (setup) => {
  const capsule = useCapsule(setup, {
    manifest:
      'artifacts:\n  - { name: svc-tool-editor, version: 1.0.0 }\n  - { name: style, version: 1.0.0, runtime: skill, source: ./skills/style }\n',
    files: {
      ...files,
      'skills/style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\n',
      'skills/style/skill.md': 'Be brief.\n',
      'svc.lock': '{ "lock_version": 1, "artifacts": [] }\n',
    },
    calls: [
      shell('change', 'echo "total = 100" > src/cart.js; cat src/cart.js'),
      shell('hook', 'echo evil > .git/hooks/pre-commit'),
      shell('config', 'echo "[core] fsmonitor = evil" >> .git/config'),
      shell('replace', 'echo "name: evil" > other; mv -f other svc.yaml'),
      shell('remove', 'rm -f svc.yaml'),
      shell('skill', 'echo evil > skills/style/skill.md'),
      shell('beside-skill', 'echo evil > skills/style/new'),
      shell('move-skill', 'mv skills aside'),
      shell('lock', 'echo evil > svc.lock'),
      edit('edit-skill', { command: 'write', path: 'project/skills/style/skill.md', content: 'evil' }),
      edit('edit', { command: 'write', path: 'project/src/made', content: 'by the editor' }),
      edit('overwrite', { command: 'write', path: 'project/svc.yaml', content: 'name: evil' }),
    ],
    capabilities: `project: { path: ., write: true }\n${commands}`,
    prepare: ({ folder }) => {
      execFileSync('git', ['init', '--quiet', folder]);
      return {};
    },
  });

  it('takes changes of commands and of the editor', async (context) => {
    const { workspace } = capsule(context);
    expect((await capsule(context).result('change')).text).toBe(printed('total = 100\n'));
    await capsule(context).result('edit');
    expect(readFileSync(join(workspace.folder, 'src/cart.js'), 'utf8')).toBe('total = 100\n');
    expect(readFileSync(join(workspace.folder, 'src/made'), 'utf8')).toBe('by the editor');
  });

  it('keeps what the capsule is made of as it is', async (context) => {
    const { workspace } = capsule(context);
    for (const id of ['skill', 'beside-skill', 'move-skill', 'lock'])
      expect((await capsule(context).result(id)).text).toMatch(/^exit code: 1\n/);
    expect((await capsule(context).result('edit-skill')).text).toMatch(refusal);
    expect(readFileSync(join(workspace.folder, 'skills/style/skill.md'), 'utf8')).toBe('Be brief.\n');
    expect(existsSync(join(workspace.folder, 'skills/style/new'))).toBe(false);
    expect(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).not.toContain('evil');
  });

  it('keeps what git runs and the manifest itself as they are', async (context) => {
    const { workspace } = capsule(context);
    for (const id of ['hook', 'config', 'replace', 'remove'])
      expect((await capsule(context).result(id)).text).toMatch(/^exit code: 1\n/);
    expect((await capsule(context).result('overwrite')).text).toMatch(refusal);
    expect(existsSync(join(workspace.folder, '.git/hooks/pre-commit'))).toBe(false);
    expect(readFileSync(join(workspace.folder, '.git/config'), 'utf8')).not.toContain('evil');
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).not.toContain('evil');
  });
});

describe.each(scoped)('a folder that may be changed, in $name', (setup) => {
  it('takes changes below the manifest, and nothing beside it does', async (context) => {
    const capsule = await openCapsule(context, setup, {
      files,
      calls: [
        shell('change', 'echo "total = 100" > cart.js; cat cart.js'),
        shell('beside', 'echo x > ../beside; cat ../keys.txt'),
      ],
      capabilities: `project: { path: lib, write: true }\n${commands}`,
      prepare: ({ folder }) => {
        mkdirSync(join(folder, 'lib'));
        writeFileSync(join(folder, 'lib', 'cart.js'), 'total = 90\n');
        return {};
      },
    });
    expect((await capsule.result('change')).text).toBe(printed('total = 100\n'));
    expect((await capsule.result('beside')).text).toMatch(/Permission denied[^]*Permission denied/);
    expect(existsSync(join(capsule.workspace.folder, 'beside'))).toBe(false);
  });
});

describe.each(asOneself)('a tool with a part of the workdir, in $name', (setup) => {
  it('does not see the folder', async (context) => {
    const capsule = await openCapsule(context, setup, {
      manifest:
        'artifacts: [{ name: svc-tool-editor, version: 1.0.0, capabilities: { filesystem: { scope: out } } }]\n',
      files,
      calls: [edit('open', { command: 'read', path: 'project/src/cart.js' })],
      capabilities: `project: { path: . }\n${commands}`,
    });
    expect((await capsule.result('open')).text).not.toContain('total');
  });
});

/** Says where it starts, and what it reads and makes there. */
const looks = `#!/bin/bash
of() { cat "$1" 2> /dev/null || echo -; }
made() { (echo x > "$1") 2> /dev/null && echo made || echo -; }
said="in \${PWD##*/}: $(of src/cart.js), $(of .env)$(of src/.env.local)$(of keys.txt)$(of svc.yaml), $(made src/by-NAME)"
`;
const nativeTool = (name: string): Record<string, string> => ({
  [`tools/${name}/svc.yaml`]: `name: ${name}\nversion: 1.0.0\nruntime: tool\nimplementation: native\n`,
  [`tools/${name}/bin/${name}`]: `${looks.replace('NAME', name)}cat > /dev/null
printf '{"status":"passed","content":"%s"}' "$said"
`,
});
const mcpServer = {
  'tools/server/svc.yaml':
    'name: server\nversion: 1.0.0\nruntime: tool\nimplementation: mcp\ncommand: [bash, ./server.sh]\n',
  'tools/server/server.sh': `${looks.replace('NAME', 'server')}
while read -r line; do
  id=\${line##*'"id":'}; id=\${id%%[^0-9]*}
  case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"'"$said"'"}]}}' ;;
  esac
done
`,
};

describe.each(
  [...sealed.slice(-1), ...scoped.slice(-1)].flatMap((setup) =>
    (setup.class === 'sealed' ? [false, true] : [false]).map((write) => [write, setup.name, setup] as const),
  ),
)('programs of artifacts with a folder, write: %s, in %s', (write, _, setup) => {
  const narrowed = { reader: '{ filesystem: { read_only: true } }', apart: '{ filesystem: { scope: out } }' };
  const natives = ['whole', 'reader', 'apart'];
  const entries = [...natives, 'server'].map((name) => {
    const asked = Object.hasOwn(narrowed, name) ? `, capabilities: ${narrowed[name as keyof typeof narrowed]}` : '';
    return `  - { name: ${name}, version: 1.0.0, source: ./tools/${name}${asked} }\n`;
  });
  const capsule = useCapsule(setup, {
    manifest: `artifacts:\n${entries.join('')}`,
    files: {
      ...files,
      ...Object.fromEntries(natives.flatMap((name) => Object.entries(nativeTool(name)))),
      ...mcpServer,
    },
    calls: [...natives, 'server__look'].map((tool) => ({ id: tool, tool, input: {} })),
    capabilities: `project: { path: ., write: ${write}, mask: [keys.txt] }\nshell: { allow: [bash, cat] }`,
    prepare: ({ folder }) => {
      for (const name of natives) chmodSync(join(folder, 'tools', name, 'bin', name), 0o755);
      return {};
    },
  });

  const shown = (made: string): RegExp => new RegExp(`in \\S+: total = 90, ----, ${made}`);

  it.for([
    ['whole', write ? 'made' : '-'],
    ['reader', '-'],
    ['server__look', write ? 'made' : '-'],
  ] as const)('show %s what is not masked, and let it make %s', async ([tool, made], context) => {
    expect((await capsule(context).result(tool)).text.replaceAll(/-\n/g, '-')).toMatch(shown(made));
  });

  it('show nothing of it to one that is narrowed to a part of the workdir', async (context) => {
    expect((await capsule(context).result('apart')).text).not.toContain('total');
  });

  it('leave in it what they may, and no more', async (context) => {
    await capsule(context).stream.untilClosed();
    const made = readdirSync(join(capsule(context).workspace.folder, 'src')).filter((name) => name.startsWith('by-'));
    expect(made.toSorted()).toEqual(write ? ['by-server', 'by-whole'] : []);
  });
});

describe.each(advisory)('the folder where nothing holds commands, in $name', (setup) => {
  it('holds components all the same, and commands start there', async (context) => {
    const capsule = await openCapsule(context, setup, {
      manifest: editor,
      files,
      calls: [
        shell('read', 'cat src/cart.js'),
        edit('keys', { command: 'read', path: 'project/.env' }),
        edit('create', { command: 'write', path: 'project/src/new', content: 'new' }),
      ],
      capabilities: `project: { path: . }\n${commands}`,
    });
    expect((await capsule.result('read')).text).toBe(printed('total = 90\n'));
    expect((await capsule.result('keys')).text).toMatch(refusal);
    expect((await capsule.result('create')).text).toMatch(refusal);
  });
});

describe('the folder of a capsule that delegates', () => {
  const start = useFormations();
  let shop = '';
  eachFolder('svc-shop-', (made) => {
    shop = made;
    for (const name of ['note', 'keys', '.env']) writeFileSync(join(made, name), `${name}\n`);
  });

  it('goes on to a child that asks for it, as masked as it is, and to none that asks for more', async () => {
    const delegates = (capsule: string): string =>
      calls('delegate-task', { capsule, version: '1.0.0', task: 'Look.' }, 'Begin');
    const shells = 'shell: { allow: [sh, cat] }';
    const child = (project: string): { manifest: string; script: string } => ({
      manifest: `lifecycle: { task_acceptance: single }\ncapabilities: { project: ${project}, ${shells} }\n`,
      script: [
        calls('sh', { command: 'cat note && ! cat keys && ! (echo x > new)' }, 'Look.'),
        says('Looked.', 'Look.'),
      ].join(''),
    });
    const formation = await start({
      capsules: {
        lead: {
          manifest: `lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep }\ncapabilities: { project: { mask: [keys] }, spawn: { allow: [worker, greedy] }, ${shells} }\n`,
          script: [
            delegates('greedy'),
            delegates('worker'),
            says('Under way.', 'Begin'),
            says('Heard.', 'delegation_id'),
          ].join(''),
        },
        worker: child('{ path: gone }'),
        greedy: child('{ write: true }'),
      },
      env: { SVC_CONTAINMENT_CEILING: 'sealed' },
      flags: ['--project', shop],
    });
    await formation.send('Begin');
    await formation.tasksEnded(2);
    expect(formation.results[0]).toContain(
      'capabilities.project: the child declares write: true, which the parent does not',
    );
    const started = formation.childTrace.find((line) => line['event_type'] === 'session_start');
    expect(started?.['effective_grants']).toMatchObject({
      project_folder: { path: shop, writable: false, masked: ['.env', 'keys'] },
    });
    expect(formation.childTrace.find((line) => line['event_type'] === 'shell')).toMatchObject({ exit_code: 0 });
    expect(existsSync(join(shop, 'new'))).toBe(false);
  });
});
