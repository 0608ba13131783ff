import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

import { runsCommand, scriptCapsule } from '../support/script-capsule.ts';
import type { RunLine } from '../support/svc-process.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

it('more idle connections than there may be open files keep a session from nothing', async () => {
  const workspace = scriptCapsule({
    manifest: 'capabilities: { shell: { allow: [sh, sleep, echo] } }\n',
    script: runsCommand('until [ -e go ]; do sleep 0.05; done', 'echo "still here" > out.txt'),
  });
  onTestFinished(() => workspace.remove());
  const line = `ulimit -n 128 && exec "${process.execPath}" "${program}" run --json --task go`;
  const capsule = spawn('/bin/sh', ['-c', line], {
    cwd: workspace.folder,
    env: { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(capsule, 'close');
  let complaints = '';
  capsule.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const [first] = (await once(createInterface({ input: capsule.stdout }), 'line')) as [string];
  const { url, workdir } = JSON.parse(first) as RunLine;
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let opened = 0; opened < 300; opened += 1) {
    const socket = connect(Number(url.split(':')[1]), '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
  }
  writeFileSync(join(workdir, 'go'), '');
  const [code] = (await ended) as [number | null];
  expect({ code, errors: complaints.match(/^error.*$/gm) }).toEqual({ code: 0, errors: null });
});
