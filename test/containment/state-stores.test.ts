import { chmodSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { printed, scoped, sealed, shell, type ContainedOptions, type Setup } from './contained-capsule.ts';
import { openCapsule, useCapsule } from './use-capsule.ts';

const setups: readonly Setup[] = [...sealed, ...scoped];

/** What a program finds in its stores and beside them. */
const looks = `#!/usr/bin/env node
const { mkdirSync, readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
const { SVC_STATE: state, USERS_HOME: home } = process.env;
const attempt = (what) => { try { return what() ?? 'done'; } catch (error) { return error.code; } };
const read = (path) => attempt(() => readFileSync(path, 'utf8'));
const look = () => JSON.stringify({
  place: state,
  kept: read(state + '/notes/kept'),
  before: read(state + '/notes/new'),
  written: attempt(() => writeFileSync(state + '/notes/new', 'shared')),
  run: spawnSync(state + '/notes/run').error?.code ?? 'ran',
  listed: attempt(() => readdirSync(state).join()),
  made: attempt(() => mkdirSync(state + '/more')),
  other: [read(state + '/others/secret'), read(home + '/.svc/state/others/secret')],
  config: read(home + '/.svc/config.yaml'),
  workdir: attempt(() => writeFileSync('new', '')),
});
`;

const nativeTool = `${looks}
readFileSync(0);
console.log(JSON.stringify({ status: 'passed', content: look() }));
`;

const mcpServer = `${looks}
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'look', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: look() }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) }));
});
`;

const kinds = [
  ['a native tool', 'looker', nativeTool, 'implementation: native', 'bin/looker'],
  ['an MCP server', 'looker__look', mcpServer, 'implementation: mcp\ncommand: [bin/looker.cjs]', 'bin/looker.cjs'],
] as const;

type Kind = readonly [what: string, tool: string, program: string, implementation: string, file: string];

function capsuleOf([, tool, program, implementation, file]: Kind): ContainedOptions {
  return {
    calls: [
      { id: 'look', tool, input: {} },
      shell('shell', 'echo "${SVC_STATE-none}"; cat "$USERS_HOME/.svc/state/notes/kept" 2> /dev/null || echo -'),
    ],
    manifest:
      'artifacts: [{ name: looker, version: 1.0.0, source: ./looker, capabilities: { state: { store: notes } } }]\n',
    capabilities: `filesystem: { read_only: true, workdir_exec: true }
env: { allow: [USERS_HOME, SVC_STATE] }
shell: { allow: [bash, cat] }`,
    files: {
      'looker/svc.yaml': `name: looker\nversion: 1.0.0\nruntime: tool\n${implementation}\n`,
      [`looker/${file}`]: program,
    },
    env: { SVC_STATE: '/elsewhere' },
    prepare: ({ folder, home }) => {
      chmodSync(join(folder, 'looker', file), 0o755);
      for (const store of ['notes', 'others']) mkdirSync(join(home, '.svc/state', store), { recursive: true });
      writeFileSync(join(home, '.svc/state/notes/kept'), 'kept');
      writeFileSync(join(home, '.svc/state/notes/run'), '#!/bin/bash\n', { mode: 0o755 });
      writeFileSync(join(home, '.svc/state/others/secret'), 'secret');
      writeFileSync(join(home, '.svc/config.yaml'), '{}');
      return { USERS_HOME: home };
    },
  };
}

describe.each(setups)('a state store in $name', (setup) => {
  describe.each(kinds)('of %s', (...kind) => {
    const options = capsuleOf(kind);
    const capsule = useCapsule(setup, options);
    const refused = setup.class === 'sealed' ? 'ENOENT' : 'EACCES';

    it('may be read and written and holds no programs, and nothing beside it is reached', async (context) => {
      const { workspace } = capsule(context);
      const { text } = await capsule(context).result('look');
      expect(JSON.parse(text)).toEqual({
        place: setup.class === 'sealed' ? '/state' : join(realpathSync(workspace.home), '.svc/state'),
        kept: 'kept',
        before: 'ENOENT',
        written: 'done',
        run: 'EACCES',
        listed: setup.class === 'sealed' ? 'notes' : 'EACCES',
        made: setup.class === 'sealed' ? 'EROFS' : 'EACCES',
        other: [refused, refused],
        config: refused,
        workdir: setup.class === 'sealed' ? 'EROFS' : 'EACCES',
      });
      expect(readFileSync(join(workspace.home, '.svc/state/notes/new'), 'utf8')).toBe('shared');
    });

    it('stays away from the commands of the capsule', async (context) => {
      expect((await capsule(context).result('shell')).text).toBe(printed('none\n-\n'));
    });

    it('serves another capsule that names it too', async (context) => {
      const first = capsule(context);
      await first.result('look');
      const second = await openCapsule(context, setup, {
        ...options,
        prepare: (workspace) => {
          options.prepare?.(workspace);
          return { USERS_HOME: first.workspace.home, HOME: first.workspace.home };
        },
      });
      expect(JSON.parse((await second.result('look')).text)).toMatchObject({ before: 'shared', written: 'done' });
    });
  });
});
