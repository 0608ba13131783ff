import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { scoped, sealed, type Setup } from './contained-capsule.ts';
import { openCapsule, useCapsule } from './use-capsule.ts';

const setups: readonly Setup[] = [...sealed, ...scoped];

/** A folder of the host that a manifest may open. */
const shared = realpathSync(mkdtempSync(join(tmpdir(), 'svc-shared-')));
writeFileSync(join(shared, 'data'), 'shared');
chmodSync(shared, 0o755);
afterAll(() => rmSync(shared, { recursive: true }));

/** A native tool that reports what it can reach. */
const looks = `#!/bin/bash
cat > /dev/null
workdir=\${HOME%/.svc/home}
of() { cat "$workdir/$1" 2> /dev/null || echo -; }
made() { (echo x > "$workdir/$1") 2> /dev/null && echo made || echo -; }
printf '{"status":"passed","content":"%s"}' \\
  "in \${PWD##*/}: $(of out/notes/note) $(of out/inside) $(of other/outside) $(cat ${shared}/data 2> /dev/null || echo -), $(made out/notes/new)"
`;

function tool(name: string): Readonly<Record<string, string>> {
  return {
    [`${name}/svc.yaml`]: `name: ${name}\nversion: 1.0.0\nruntime: tool\nimplementation: native\n`,
    [`${name}/bin/${name}`]: looks,
  };
}

describe.each(setups)('a native tool in $name', (setup) => {
  const names = ['whole', 'narrow', 'apart', 'failing'];
  const capsule = useCapsule(setup, {
    calls: names.map((name) => ({ id: name, tool: name, input: {} })),
    manifest: `artifacts:
  - { name: whole, version: 1.0.0, source: ./whole }
  - { name: narrow, version: 1.0.0, source: ./narrow, capabilities: { filesystem: { scope: out/notes, read_only: true, host_read: [] } } }
  - { name: apart, version: 1.0.0, source: ./apart, capabilities: { filesystem: { scope: other } } }
  - { name: failing, version: 1.0.0, source: ./failing }
`,
    capabilities: `filesystem: { scope: out, host_read: [${shared}] }\nshell: { allow: [cat] }`,
    files: {
      ...Object.assign({}, ...names.map(tool)),
      'failing/bin/failing': '#!/bin/bash\necho "cannot run /usr/bin/env" >&2\nexit 1\n',
      'work/out/notes/note': 'note',
      'work/out/inside': 'inside',
      'work/other/outside': 'outside',
    },
    args: ['--workdir', 'work'],
    prepare: ({ folder }) => {
      for (const name of names) chmodSync(join(folder, name, 'bin', name), 0o755);
      return {};
    },
  });

  it.for([
    ['sees the scope of its capsule when it asks for none', 'whole', 'in out: note inside - shared, made'],
    [
      'sees no more than the scope it asks for, and changes nothing when it asks so',
      'narrow',
      'in notes: note - - -, -',
    ],
    [
      'sees nothing of the workdir when it asks for what its capsule does not have',
      'apart',
      'in home: - - - shared, -',
    ],
  ] as const)('%s', async ([, id, shown], context) => {
    expect((await capsule(context).result(id)).text).toBe(shown);
  });

  it('comes with the grant that would open what its last words name', async (context) => {
    expect((await capsule(context).result('failing')).text).toBe(
      `the tool failing did not answer with the JSON object of a tool result (exit code 1)
/usr/bin/env is on this machine, and hidden from programs here: capabilities.shell.allow: [env] lets them run it
its last words on stderr:
cannot run /usr/bin/env`,
    );
  });
});

/** A model behind a process, which reports what it can reach. */
const driver = `#!/usr/bin/env node
const { spawnSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const attempt = (what) => { try { return what(); } catch (error) { return error.code; } };
const output = ({ error, stdout }) => { if (error) throw error; return String(stdout); };
process.stdin.once('data', () => {
  const facts = {
    program: attempt(() => readFileSync(__filename, 'utf8').split('\\n')[0]),
    manifest: attempt(() => readFileSync(__dirname + '/svc.yaml', 'utf8').length),
    listed: attempt(() => output(spawnSync('cat', ['inside']))),
    unlisted: attempt(() => output(spawnSync('ls'))),
    environment: Object.keys(process.env).sort(),
  };
  const content = [{ type: 'text', text: JSON.stringify(facts) }];
  console.log(JSON.stringify({ type: 'response', response: { content, stop_reason: 'end_turn' } }));
});
process.stdin.once('end', () => process.exit());
`;

describe.each(setups)('a driver that is a program in $name', (setup) => {
  it('has the containment of commands [D1-MAN-04]', async (context) => {
    const capsule = await openCapsule(context, setup, {
      calls: [],
      capabilities: '',
      files: {
        'svc.yaml': `name: piped
version: 1.0.0
inference: { transport: process, command: [./driver], model: m }
lifecycle: { task_acceptance: single }
capabilities: { containment: ${setup.class}, shell: { allow: [cat] }, env: { allow: [GREETING] } }
`,
        driver,
        'work/inside': 'inside',
      },
      args: ['--workdir', 'work'],
      env: { GREETING: 'hello', SECRET: 'x' },
      prepare: ({ folder }) => {
        chmodSync(join(folder, 'driver'), 0o755);
        return {};
      },
    });
    const { data } = await capsule.stream.until(({ event }) => event === 'text');
    expect(JSON.parse(String(data['text']))).toEqual({
      program: '#!/usr/bin/env node',
      manifest: setup.class === 'sealed' ? 'ENOENT' : 'EACCES',
      listed: 'inside',
      unlisted: setup.class === 'sealed' ? 'ENOENT' : 'EACCES',
      environment: ['GREETING', 'HOME', 'LANG', 'PATH', 'SVC_SESSION_ID', 'TERM', 'TMPDIR'],
    });
  });
});
