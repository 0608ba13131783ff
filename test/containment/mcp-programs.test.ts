import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, type TestContext } from 'vitest';

import type { Workspace } from '../support/workspace.ts';
import { asOneself, type ContainedOptions, type ScriptedCall } from './contained-capsule.ts';
import { needsPrograms, openCapsule, useCapsule } from './use-capsule.ts';

const tell = (artifact: string): ScriptedCall => ({ id: artifact, tool: `${artifact}__tell`, input: {} });

/** A server of one tool, whose answer comes from `answer`, an expression that may wait. */
const server = (imports: string, answer: string): string => `#!/usr/bin/env node
import { createInterface } from 'node:readline';
${imports}
const say = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: 'small', version: '1' };
  if (method === 'initialize') say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
  if (method === 'tools/list') say(id, { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] });
  if (method === 'tools/call') say(id, { content: [{ type: 'text', text: String(${answer}) }] });
});
`;

const pythonServer = `import json, sys
import helper
for line in sys.stdin:
    message = json.loads(line)
    method, result = message['method'], None
    if method == 'initialize':
        result = {'protocolVersion': message['params']['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': {'name': 's', 'version': '1'}}
    if method == 'tools/list':
        result = {'tools': [{'name': 'tell', 'inputSchema': {'type': 'object'}}]}
    if method == 'tools/call':
        result = {'content': [{'type': 'text', 'text': helper.word}]}
    if result is not None:
        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)
`;

function artifact(name: string, ...command: readonly string[]): Record<string, string> {
  const manifest = { name, version: '1.0.0', runtime: 'tool', implementation: 'mcp', command };
  return { [`${name}/svc.yaml`]: JSON.stringify(manifest) };
}

/** A package with a program of its name, and one that it needs. */
function installed(modules: string, name: string, answer: string): Record<string, string> {
  return {
    [`${modules}/${name}/package.json`]: JSON.stringify({ name, type: 'module' }),
    [`${modules}/${name}/lib/own.js`]: `export default 'own part';`,
    [`${modules}/${name}/dist/cli.js`]: server(`import own from '../lib/own.js'; import other from 'other';`, answer),
    [`${modules}/other/package.json`]: JSON.stringify({ name: 'other', type: 'module', main: 'index.js' }),
    [`${modules}/other/index.js`]: `export default 'other package';`,
  };
}

function linked({ folder }: Workspace, bin: string, to: string, name: string): void {
  mkdirSync(join(folder, bin), { recursive: true });
  chmodSync(join(folder, bin, to), 0o755);
  symlinkSync(to, join(folder, bin, name));
}

/** Asks the proxy for a host, as a program does that heeds the variables. */
const connect = `await new Promise((resolve) => request({ host: '127.0.0.1', port: 3128, method: 'CONNECT', path: 'refused.example:443' }).on('connect', ({ statusCode }) => resolve('answer ' + statusCode)).end())`;

/** As pnpm writes one, in part. */
const shim = `#!/bin/sh
basedir=$(command -p dirname "$0")
exec node  "$basedir/../shim-server/dist/cli.js" "$@"
`;

/** What `pip install --user` makes: a program, and packages that its Python finds by the home of its user. */
const userPython = '/usr/bin/python3';
const hasUserPython = existsSync(userPython);

function installedForUser({ home }: Workspace): void {
  const version = execFileSync(userPython, ['-c', 'import sys; print("python%d.%d" % sys.version_info[:2])'], {
    encoding: 'utf8',
  });
  const modules = join(home, '.local/lib', version.trim(), 'site-packages');
  for (const folder of [modules, join(home, '.local/bin')]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(modules, 'helper.py'), `word = 'of its user'\n`);
  writeFileSync(join(home, '.local/bin/user-server'), `#!${userPython}\n${pythonServer}`, { mode: 0o755 });
}

const options: ContainedOptions = {
  calls: [tell('local'), tell('global'), tell('shimmed'), tell('asks'), ...(hasUserPython ? [tell('user')] : [])],
  manifest: `artifacts:
  - { name: local, version: 1.0.0, source: ./local, env: { WORD: a word, KEY: "\${TOKEN}" } }
  - { name: global, version: 1.0.0, source: ./global }
  - { name: shimmed, version: 1.0.0, source: ./shimmed }
  - { name: asks, version: 1.0.0, source: ./asks }
${hasUserPython ? '  - { name: user, version: 1.0.0, source: ./user }\n' : ''}`,
  capabilities:
    'shell: { allow: [local-server, global-server, shim-server, user-server] }\nnetwork: { allow: [granted.example] }',
  files: {
    ...artifact('local', 'local-server'),
    ...artifact('global', 'global-server'),
    ...artifact('shimmed', 'shim-server'),
    ...artifact('user', 'user-server'),
    ...artifact('asks', 'bin/server.mjs'),
    'asks/bin/server.mjs': server(`import { request } from 'node:http';`, connect),
    ...installed('node_modules', 'local-server', `[own, other, process.env.WORD, process.env.KEY?.length]`),
    ...installed('node_modules', 'shim-server', `[own, other]`),
    ...installed('prefix/lib/node_modules', 'global-server', `[own, other, process.env.WORD]`),
    'work/keep': '',
  },
  args: ['--workdir', 'work'],
  prepare: (workspace) => {
    linked(workspace, 'node_modules/.bin', '../local-server/dist/cli.js', 'local-server');
    chmodSync(join(workspace.folder, 'node_modules/shim-server/dist/cli.js'), 0o755);
    writeFileSync(join(workspace.folder, 'node_modules/.bin/shim-server'), shim, { mode: 0o755 });
    if (hasUserPython) installedForUser(workspace);
    linked(workspace, 'prefix/bin', '../lib/node_modules/global-server/dist/cli.js', 'global-server');
    return {
      PATH: [process.env['PATH'], join(workspace.folder, 'prefix/bin'), join(workspace.home, '.local/bin')].join(':'),
      TOKEN: 'a-key-of-thirty-characters-xyz',
    };
  },
};

/** A registry of one package, `made-server`, whose program has a name of its own and starts with what its own folder holds. */
async function openRegistry(context: TestContext): Promise<{ readonly port: number; readonly asked: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-registry-'));
  const manifest = { name: 'made-server', version: '1.2.3', type: 'module', bin: { 'made-program': 'cli.js' } };
  const own = `writable(process.argv[1]) + ' ' + process.argv.slice(2)`;
  const look = `const writable = (path) => { try { appendFileSync(path, ''); return 'writable'; } catch { return 'kept'; } };`;
  mkdirSync(join(folder, 'package'));
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package/cli.js'), server(`import { appendFileSync } from 'node:fs';\n${look}`, own), {
    mode: 0o755,
  });
  execFileSync('tar', ['-czf', 'made.tgz', 'package'], { cwd: folder });
  const tarball = readFileSync(join(folder, 'made.tgz'));
  rmSync(folder, { recursive: true });
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const asked: string[] = [];
  const registry = createServer(({ url = '', headers }, response) => {
    asked.push(url);
    if (url.endsWith('.tgz')) return void response.end(tarball);
    const dist = { tarball: `http://${headers.host}/made.tgz`, integrity };
    const versions = { '1.2.3': { ...manifest, dist } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: 'made-server', 'dist-tags': { latest: '1.2.3' }, versions }));
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  context.onTestFinished(() => void registry.close());
  return { port: (registry.address() as AddressInfo).port, asked };
}

/** A registry of one package of Python, `made-server`, with a program of another name. */
async function openIndex(context: TestContext): Promise<{ readonly port: number; readonly asked: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-index-'));
  const name = 'made_server-1.2.3-py3-none-any.whl';
  const own = `import sys
def writable():
    try:
        open(__file__, 'a').close()
        return 'writable'
    except OSError:
        return 'kept'
word = writable() + ' ' + ','.join(sys.argv[1:])
`;
  const files = {
    'made/helper.py': own,
    'made/__init__.py': `def main():\n${pythonServer.replace('import helper', 'from made import helper').replaceAll(/^/gm, '    ')}\n`,
    'made_server-1.2.3.dist-info/METADATA': 'Metadata-Version: 2.1\nName: made-server\nVersion: 1.2.3\n',
    'made_server-1.2.3.dist-info/WHEEL':
      'Wheel-Version: 1.0\nGenerator: made\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'made_server-1.2.3.dist-info/entry_points.txt': '[console_scripts]\nmade-program = made:main\n',
    'made_server-1.2.3.dist-info/RECORD': '',
  };
  const zip = `import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    for path, text in json.load(sys.stdin).items(): wheel.writestr(path, text)`;
  execFileSync('python3', ['-c', zip, join(folder, name)], { input: JSON.stringify(files) });
  const wheel = readFileSync(join(folder, name));
  rmSync(folder, { recursive: true });
  const sha256 = createHash('sha256').update(wheel).digest('hex');
  const asked: string[] = [];
  const index = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (url.endsWith('.whl')) return void response.end(wheel);
    response.setHeader('content-type', 'text/html');
    response.end(`<a href="/files/${name}#sha256=${sha256}">${name}</a>`);
  });
  await new Promise<void>((resolve) => index.listen(0, '127.0.0.1', resolve));
  context.onTestFinished(() => void index.close());
  return { port: (index.address() as AddressInfo).port, asked };
}

describe.each(asOneself)('the server of an artifact in $name', (setup) => {
  const capsule = useCapsule(setup, options);

  it('runs from the project by its bare name, with its packages and the variables of its entry', async (context) => {
    expect(await capsule(context).result('local')).toEqual({
      text: 'own part,other package,a word,30',
      isError: false,
    });
  });

  it('runs from another prefix of npm, without the variables of another entry', async (context) => {
    expect((await capsule(context).result('global')).text).toBe('own part,other package,');
  });

  it('runs behind the shell script that pnpm makes for it', async (context) => {
    expect((await capsule(context).result('shimmed')).text).toBe('own part,other package');
  });

  it('runs from the home of its user, where pip has installed it with its packages', async (context) => {
    context.skip(!hasUserPython, `needs ${userPython}`);
    expect((await capsule(context).result('user')).text).toBe('of its user');
  });

  it('causes a line of ours for a host that the proxy refused', async (context) => {
    context.skip(setup.class !== 'sealed', 'a proxy decides in sealed alone');
    expect((await capsule(context).result('asks')).text).toMatch(
      /^answer 403\n\[svc did not let it connect: .*refused\.example.*capabilities\.network\.allow.*\]$/,
    );
  });

  it('ends within seconds where npx cannot reach its registry, which the error names', async (context) => {
    needsPrograms(context, 'npx');
    const starting = openCapsule(context, setup, {
      calls: [],
      manifest: `artifacts: [{ name: far, version: 1.0.0, source: ./far }]\n`,
      // npm alone asks for a minute and more.
      capabilities: 'shell: { allow: [npx] }\nnetwork: { allow: [granted.example] }\nlimits: { deadline: 30 }',
      files: { ...artifact('far', 'npx', '-y', 'no-such-server-of-anybody@1.0.0'), 'work/keep': '' },
      args: ['--workdir', 'work'],
    });
    await expect(starting).rejects.toThrow(
      /error\[E-RUN-036\]: the server of far did not list its tools: it exited with status 1\nhint: npx installs from registry\.npmjs\.org, which capabilities\.network\.allow does not list for it/,
    );
    const refusal = /\[svc did not let it connect: https:\/\/registry\.npmjs\.org is refused: /;
    if (setup.class === 'sealed') await expect(starting).rejects.toThrow(refusal);
  });

  it('comes from the registry that npx is granted, into a cache that it cannot write, and stays there', async (context) => {
    needsPrograms(context, 'npx', 'npm', 'tar');
    const { port, asked } = await openRegistry(context);
    const one = await openCapsule(context, setup, {
      calls: [tell('made'), tell('again')],
      manifest: `artifacts:
  - { name: made, version: 1.0.0, source: ./made, env: { npm_config_registry: "http://127.0.0.1:${port}/" } }
  - { name: again, version: 1.0.0, source: ./again, env: { npm_config_registry: "http://127.0.0.1:${port}/" } }
`,
      capabilities: `shell: { allow: [npx] }\nnetwork: { allow: ["127.0.0.1:${port}"] }`,
      files: {
        ...artifact('made', 'npx', '-y', 'made-server@1.2.3', '--all'),
        ...artifact('again', 'npx', '--yes', 'made-server@1.2.3'),
        'work/keep': '',
      },
      args: ['--workdir', 'work'],
    });
    expect((await one.result('made')).text).toBe('kept --all');
    expect((await one.result('again')).text).toBe('kept ');
    expect(asked).toEqual(['/made-server', '/made.tgz']);
    const absent = openCapsule(context, setup, {
      calls: [],
      manifest: `artifacts: [{ name: made, version: 1.0.0, source: ./made, env: { npm_config_registry: "http://127.0.0.1:${port}/" } }]\n`,
      capabilities: `shell: { allow: [npx] }\nnetwork: { allow: ["127.0.0.1:${port}"] }`,
      files: { ...artifact('made', 'npx', '-y', 'made-server@9.9.9'), 'work/keep': '' },
      args: ['--workdir', 'work'],
    });
    await expect(absent).rejects.toThrow(
      /E-RUN-036\]: the server of made could not be installed from made-server@9\.9\.9: npm exited with status 1\nhint: [^]*\n {2}\| .*ETARGET/,
    );
  });

  it('comes from a registry that only its installation reaches where runs lists npx, which the model does not get', async (context) => {
    needsPrograms(context, 'npx', 'npm', 'tar');
    const { port, asked } = await openRegistry(context);
    const one = await openCapsule(context, setup, {
      calls: [
        tell('made'),
        tell('asks'),
        { id: 'npx', tool: 'npx', input: { command: '--version' } },
        { id: 'ls', tool: 'ls', input: { command: '' } },
      ],
      manifest: `artifacts:
  - { name: made, version: 1.0.0, source: ./made, runs: [npx, node], env: { npm_config_registry: "http://127.0.0.1:${port}/" } }
  - { name: asks, version: 1.0.0, source: ./asks, runs: [node] }
`,
      capabilities: `shell: { allow: [ls] }`,
      files: {
        ...artifact('made', 'npx', '-y', 'made-server@1.2.3', '--all'),
        ...artifact('asks', 'node', './server.mjs'),
        'asks/server.mjs': server(
          `import { connect } from 'node:net';`,
          `await new Promise((resolve) => connect(${port}, '127.0.0.1').on('connect', () => resolve('reached')).on('error', () => resolve('not reached')))`,
        ),
        'work/keep': '',
      },
      args: ['--workdir', 'work'],
    });
    expect((await one.result('made')).text).toBe('kept --all');
    expect(asked).toEqual(['/made-server', '/made.tgz']);
    expect((await one.result('npx')).isError).toBe(true);
    expect((await one.result('ls')).isError).toBe(false);
    expect((await one.result('asks')).text).toBe('not reached');
    const port9 = openCapsule(context, setup, {
      calls: [],
      // npm alone asks again for a minute and more.
      manifest: `artifacts: [{ name: made, version: 1.0.0, source: ./made, runs: [npx], env: { npm_config_registry: "http://127.0.0.1:9/" } }]\n`,
      capabilities: '',
      files: { ...artifact('made', 'npx', '-y', 'made-server@9.9.9'), 'work/keep': '' },
      args: ['--workdir', 'work'],
    });
    await expect(port9).rejects.toThrow(
      /E-RUN-036\]: the server of made could not be installed from made-server@9\.9\.9: 127\.0\.0\.1:9 cannot be reached: nothing listens there\n/,
    );
  });

  it('comes from the registry that uvx is granted, into a cache that it cannot write, and stays there', async (context) => {
    needsPrograms(context, 'uv', 'uvx', 'python3');
    const { port, asked } = await openIndex(context);
    const entry = (name: string): string =>
      `  - { name: ${name}, version: 1.0.0, source: ./${name}, env: { UV_DEFAULT_INDEX: "http://127.0.0.1:${port}/simple" } }\n`;
    const common = {
      capabilities: `shell: { allow: [uvx, uv] }\nnetwork: { allow: ["127.0.0.1:${port}"] }`,
      args: ['--workdir', 'work'],
    };
    const one = await openCapsule(context, setup, {
      ...common,
      calls: [tell('made'), tell('again')],
      manifest: `artifacts:\n${entry('made')}${entry('again')}`,
      files: {
        ...artifact('made', 'uvx', '--from', 'made-server==1.2.3', 'made-program', '--all'),
        ...artifact('again', 'uv', 'tool', 'run', '--from', 'made-server==1.2.3', 'made-program'),
        'work/keep': '',
      },
    });
    expect((await one.result('made')).text).toBe('kept --all');
    expect((await one.result('again')).text).toBe('kept ');
    expect(asked.filter((url) => url.startsWith('/simple'))).toHaveLength(1);
    const absent = openCapsule(context, setup, {
      ...common,
      calls: [],
      manifest: `artifacts:\n${entry('made')}`,
      files: { ...artifact('made', 'uvx', 'made-server@9.9.9'), 'work/keep': '' },
    });
    await expect(absent).rejects.toThrow(
      /E-RUN-036\]: the server of made could not be installed from made-server@9\.9\.9: uv exited with status 1\nhint: [^]*made-server/,
    );
  });

  it('runs by uv in the virtual environment of its project', async (context) => {
    needsPrograms(context, 'uv', 'python3');
    const one = await openCapsule(context, setup, {
      calls: [tell('py')],
      manifest: `artifacts: [{ name: py, version: 1.0.0, source: ./py }]\n`,
      capabilities: 'shell: { allow: [uv, python3] }',
      files: {
        ...artifact('py', 'uv', 'run', 'server.py'),
        'py/pyproject.toml': '[project]\nname = "py"\nversion = "1"\nrequires-python = ">=3.8"\n',
        'py/server.py': pythonServer,
        'work/keep': '',
      },
      args: ['--workdir', 'work'],
      prepare: ({ folder }) => {
        execFileSync('python3', ['-m', 'venv', '--without-pip', join(folder, 'py/.venv')]);
        const [version = ''] = readdirSync(join(folder, 'py/.venv/lib'));
        const modules = join('lib', version, 'site-packages');
        writeFileSync(join(folder, 'py/.venv', modules, 'helper.py'), `word = 'of the environment'\n`);
        return {};
      },
    });
    expect((await one.result('py')).text).toBe('of the environment');
  });

  it('has the folder of its Python file, and the project around that', async (context) => {
    needsPrograms(context, 'python3');
    const one = await openCapsule(context, setup, {
      calls: [tell('py'), tell('sub')],
      manifest: `artifacts: [{ name: py, version: 1.0.0, source: ./py }, { name: sub, version: 1.0.0, source: ./sub }]\n`,
      capabilities: 'shell: { allow: [python3] }',
      files: {
        ...artifact('py', 'python3', 'server.py'),
        'py/server.py': pythonServer,
        'py/helper.py': `word = 'beside it'\n`,
        ...artifact('sub', 'python3', 'app/server.py'),
        'sub/pyproject.toml': '[project]\nname = "sub"\n',
        'sub/app/server.py': `import sys\nsys.path.insert(0, sys.path[0] + '/../lib')\n${pythonServer}`,
        'sub/lib/helper.py': `word = 'in its project'\n`,
        'work/keep': '',
      },
      args: ['--workdir', 'work'],
    });
    expect((await one.result('py')).text).toBe('beside it');
    expect((await one.result('sub')).text).toBe('in its project');
  });
});
