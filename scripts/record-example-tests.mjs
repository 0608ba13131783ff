// Records the tests of the bundled examples anew: examples/<name>/tests/. Each example runs in a copy, over a real socket to a provider that
// plays a script. Needed when a change of svc or of an example changes what its sessions ask, and that is meant.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { startFakeAnthropic } from '../packages/testing/dist/fake-anthropic.js';
import { startFakeOpenAi } from '../packages/testing/dist/fake-openai.js';
import { calls, says } from '../packages/testing/dist/fake-reply.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = join(root, 'bin', 'svc.cjs');

const haiku = 'A small tool, well honed,\nrests within the morning light.\nThe hand finds its work.\n';
const editor = 'svc-tool-editor';
const turns = [
  calls(editor, { command: 'write', path: 'haiku.txt', content: haiku }, 'call_a1'),
  calls(editor, { command: 'read', path: 'haiku.txt' }, 'call_a2'),
  says('Here it is:\n\n', haiku),
];

const examples = [
  { name: 'hello', test: 'greets-a-newcomer', start: null },
  { name: 'ollama', test: 'writes-a-haiku', start: startFakeOpenAi },
  { name: 'openai', test: 'writes-a-haiku', start: startFakeOpenAi },
  { name: 'anthropic', test: 'writes-a-haiku', start: startFakeAnthropic },
];

/** The provider answers meanwhile, in this process. */
async function svc(cwd, home, ...args) {
  const env = { PATH: process.env['PATH'], HOME: home, OPENAI_API_KEY: 'key', ANTHROPIC_API_KEY: 'key' };
  const [code] = await once(spawn(process.execPath, [program, ...args], { cwd, env, stdio: 'inherit' }), 'exit');
  if (code !== 0) throw new Error(`svc ${args[0]} ended with ${code}`);
}

for (const { name, test, start } of examples) {
  const place = mkdtempSync(join(tmpdir(), 'svc-example-'));
  const provider = await start?.(turns);
  try {
    const example = join(root, 'examples', name);
    const [copy, home] = [join(place, name), join(place, 'home')];
    mkdirSync(home);
    cpSync(example, copy, { recursive: true, filter: (path) => !/\/(workdir|tests|\.svc|svc\.lock)$/.test(path) });
    const manifest = join(copy, 'svc.yaml');
    const text = readFileSync(manifest, 'utf8');
    if (provider !== undefined) writeFileSync(manifest, text.replace(/(?<=endpoint: )\S+/, provider.endpoint));
    await svc(copy, home, 'run', '--capture', 'content');
    await svc(copy, home, 'test', '--record', test);
    rmSync(join(example, 'tests'), { recursive: true, force: true });
    cpSync(join(copy, 'tests'), join(example, 'tests'), { recursive: true });
  } finally {
    await provider?.close();
    rmSync(place, { recursive: true, force: true });
  }
}
