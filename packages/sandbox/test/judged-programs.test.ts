import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { BundledChild } from './bundled-child.ts';
import { run, sources } from './judged-lines.ts';
import { MarkedProcesses } from './marked-processes.ts';
import { users } from './native/support/launch.ts';
import { needsClass } from './needs-class.ts';

let program: BundledChild;

beforeAll(async () => {
  program = await BundledChild.of('judged-programs-child.ts');
});

afterAll(() => program.remove());

const names = ['git', 'p0', 'tool', 'later', 'sooner', 'hidden'];
const ended = (exitCode: number) => ({ kind: 'exited', exitCode });

describe.each(users)('the programs that a program of %s starts', (_name, user) => {
  describe.each(['sealed', 'scoped'] as const)('in %s', (ceiling) => {
    it('end before their first instruction by their words, whatever starts them', async (context) => {
      await needsClass(context, ceiling);
      const lines = [
        './p0 push; echo $?; ./p0 pull; echo $?',
        "printf '#!/bin/sh\n./p0 push\n' > s; chmod +x s; ./s; echo $?",
        "printf '#!/bin/sh\ntouch tooled\n' > tool; chmod +x tool; ./tool push; echo $?; ./tool pull; echo $?; ls",
        "printf 'all:\n\t./p0 push\n' > Makefile; make 2>&1 | grep -c Killed",
        `python3 -c 'import os; print(os.system("./p0 push"))'`,
        "git -c alias.x='!./p0 push' x; echo $?; git -c alias.y=push y; echo $?",
        './p2 vfork; ./p2 spawn; ./p2 at; ./p2 thread',
        'exec ./p0 push',
        '(exec -a other ./p0 push); echo $?; (exec -a p0 /bin/echo push); echo $?',
        '(sleep 0.1; ./p0 push) & wait; echo over',
        './hidden; echo $?',
        './p1 100',
      ];
      // A user who may not read a file has the words of its program read only by who is root, here or in a namespace.
      const isReadable = ceiling === 'sealed' || (process.getuid?.() === 0 && user === undefined);
      const ran = await run(program, user, { ceiling, names, sources }, lines);
      const out = ran.map((each) => each.out);
      expect(out.slice(0, 5)).toEqual(['137\n0\n', '137\n', expect.any(String), '1\n', '35072\n']);
      expect(out[2]?.split('\n').slice(0, 2)).toEqual(['137', '0']);
      expect(out[2]).toContain('tooled');
      expect(out[5]).toMatch(/^\d+\n137\n$/);
      expect(out[6]).toBe('vfork 9\nspawn 9\nat 9\nthread 9\n');
      expect(ran[7]?.end).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
      expect(out.slice(8, 11)).toEqual(['137\n137\n', 'over\n', isReadable ? '0\n' : '137\n']);
      expect(out[11]).toMatch(/^\d+ killed, 0 failed\n$/);
      // Nothing of them ran: the mark was never made.
      expect(out[2]).not.toContain('marked');
      expect(ran.at(-1)?.seen.filter(({ argv }) => argv.includes('push')).length).toBe(
        Number.parseInt(out[11] ?? '', 10),
      );
      expect(ran[0]?.seen).toMatchObject([
        { file: './p0', argv: ['./p0', 'push'], state: 'whole' },
        { file: './p0', argv: ['./p0', 'pull'], state: 'whole' },
      ]);
      expect(ran[2]?.seen[0]).toMatchObject({ file: './tool', argv: ['/bin/sh', './tool', 'push'] });
      expect(ran[8]?.seen).toMatchObject([
        { file: expect.stringMatching(/p0$/), argv: ['other', 'push'] },
        { file: '/bin/echo', argv: ['p0', 'push'] },
      ]);
      expect(ran[10]?.seen).toMatchObject([
        isReadable ? { argv: ['./hidden'], state: 'whole' } : { argv: [], state: 'unreadable' },
      ]);
    });

    it('run as before where nobody objects, and wait alone where somebody is asked', async (context) => {
      await needsClass(context, ceiling);
      const lines = [
        'for i in $(seq 600); do /bin/true & done; wait; echo all',
        'sleep 5 & kill -STOP $!; kill -CONT $!; kill $!; wait $!; echo $?',
        `python3 -c '
import os, signal, time
child = os.fork()
if child == 0:
    time.sleep(60)
os.kill(child, signal.SIGSTOP)
_, status = os.waitpid(child, os.WUNTRACED)
print(os.WIFSTOPPED(status), os.WSTOPSIG(status))
os.kill(child, signal.SIGCONT)
_, status = os.waitpid(child, os.WCONTINUED)
print(os.WIFCONTINUED(status))
os.kill(child, signal.SIGTERM)
print(os.waitpid(child, 0)[1])'`,
        `python3 -c '
import threading
def wait():
    pass
for _ in range(50):
    threads = [threading.Thread(target=wait) for _ in range(8)]
    for each in threads: each.start()
    for each in threads: each.join()
print("joined")'`,
        'seq 20000 | xargs echo | wc -c',
        'seq 20000 | xargs ./p0; echo $?',
        './p0 later & /bin/echo meanwhile; ./p0 sooner; wait $!; echo $?',
        'for i in $(seq 40); do ./p0 later & done; ./p0 sooner; wait; echo all',
        'sleep 300 & setsid sleep 300 & echo left',
        'kill -TERM $$; sleep 5',
      ];
      const ran = await run(program, user, { ceiling, names, sources }, lines);
      expect(ran.map(({ out }) => out)).toEqual([
        'all\n',
        '143\n',
        'True 19\nTrue\n15\n',
        'joined\n',
        '108894\n',
        '0\n',
        'meanwhile\n0\n',
        'all\n',
        'left\n',
        '',
      ]);
      expect(ran.slice(0, 9).map(({ end }) => end)).toEqual(Array.from({ length: 9 }, () => ended(0)));
      expect(ran[9]?.end).toEqual({ kind: 'signaled', signal: 'SIGTERM' });
      expect(ran[4]?.seen).toEqual([]);
      expect(ran[5]?.seen[0]).toMatchObject({ file: './p0', state: 'cut', words: 4096 });
    });

    it('end when svc is killed, those that wait too', async (context) => {
      await needsClass(context, ceiling);
      const marks = new MarkedProcesses();
      onTestFinished(() => marks.end());
      const line = `(exec -a later ${marks.sleep(1)}) & setsid ${marks.sleep(2)} & exec ${marks.sleep(3)}`;
      const asked = JSON.stringify({ ceiling, names: ['later'], sources: [], lines: [line] });
      const { args, options } = program.callAs(user, asked);
      const child = spawn(process.execPath, args, { ...options, stdio: 'ignore' });
      const gone = once(child, 'exit');
      const programs = (): readonly string[] => marks.running().filter((name) => /^\d$/.test(name));
      await expect.poll(programs, { timeout: 30_000 }).toEqual(['1', '2', '3']);
      child.kill('SIGKILL');
      await gone;
      expect(await marks.settled([])).toEqual([]);
    });
  });
});
