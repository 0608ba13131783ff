import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { hasPseudoTerminals, TerminalProcess, type TerminalOptions } from '../support/terminal-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const source = fileURLToPath(new URL('../support/keyboard-program.ts', import.meta.url));
const taken = '\u001B[?2004h';
const given = '\u001B[?2004l\u001B[?25h';

function hasBash(): boolean {
  try {
    execFileSync('bash', ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function timesIn(text: string, part: string): number {
  return text.split(part).length - 1;
}

describe.skipIf(!hasPseudoTerminals())('the keyboard of a terminal (skipped without python3)', () => {
  let workspace: Workspace;
  let folder: string;
  let program: string;

  beforeAll(async () => {
    workspace = makeWorkspace({});
    folder = mkdtempSync(join(tmpdir(), 'svc-keyboard-'));
    program = join(folder, 'program.cjs');
    await build({
      entryPoints: [source],
      outfile: program,
      bundle: true,
      platform: 'node',
      target: 'node20',
      logLevel: 'error',
    });
  });

  afterAll(() => {
    workspace.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function started(options: TerminalOptions = {}): Promise<TerminalProcess> {
    const terminal = new TerminalProcess(workspace, [], { command: [process.execPath, program], ...options });
    await terminal.sends(/ready/);
    return terminal;
  }

  it('arrives key by key', async () => {
    const terminal = await started();
    terminal.type('é');
    await terminal.sends(/\{"kind":"text","text":"é"\}/);
    terminal.type('go\r');
    await terminal.sends(/\{"kind":"text","text":"go"\}\s+\{"kind":"press","name":"enter"/);
    terminal.type('\u001B');
    await terminal.sends(/"name":"escape"/);
    terminal.type('\u001B[1;5C\u001B');
    await terminal.sends(/"name":"right","ctrl":true.*\s+.*"name":"escape"/);
    terminal.type('\u001B[200~a\rb\u001B[201~');
    await terminal.sends(/\{"kind":"paste","text":"a\\nb"\}/);
    terminal.type('\u0003');
    await terminal.sends(/"name":"c","ctrl":true/);
    terminal.type('q');
    await expect(terminal.ended).resolves.toBe(0);
  });

  it.each([
    ['is closed', 'q', 0],
    ['fails', 't', 1],
    ['exits', 'e', 3],
    ['gets SIGTERM', 'SIGTERM', 256 - 15],
    ['gets SIGINT', 'SIGINT', 256 - 2],
    ['gets SIGHUP', 'SIGHUP', 256 - 1],
    ['gets SIGQUIT', 'SIGQUIT', 256 - 3],
  ] as const)('works as before once the program %s', async (_name, act, code) => {
    const terminal = await started();
    await expect(terminal.askModes()).resolves.not.toBe(terminal.modes[0]);
    if (act.startsWith('SIG')) terminal.signal(act as NodeJS.Signals);
    else terminal.type(act);
    await expect(terminal.ended).resolves.toBe(code);
    expect(terminal.modes.at(-1)).toBe(terminal.modes[0]);
    expect([timesIn(terminal.raw, taken), timesIn(terminal.raw, given)]).toEqual([1, 1]);
  });

  it('belongs to the program again where no shell could stop it', async () => {
    const terminal = await started();
    terminal.type('\u001A');
    await terminal.sends(/suspending[^]*resumed/);
    await expect(terminal.askModes()).resolves.not.toBe(terminal.modes[0]);
    terminal.type('q');
    await terminal.ended;
    expect(terminal.modes.at(-1)).toBe(terminal.modes[0]);
  });

  it('gets no control sequence that it does not know', async () => {
    const terminal = await started({ env: { TERM: 'dumb' } });
    terminal.type('q');
    await terminal.ended;
    expect(terminal.raw).not.toContain('\u001B');
    expect(terminal.modes.at(-1)).toBe(terminal.modes[0]);
  });

  describe.skipIf(!hasBash())('of an interactive shell (skipped without bash)', () => {
    /** A shell, and what `stty` says in it at first. */
    async function shell(): Promise<{ terminal: TerminalProcess; modes: () => Promise<string>; before: string }> {
      const terminal = new TerminalProcess(workspace, [], {
        command: ['bash', '--norc', '--noprofile', '-i'],
        env: { NODE: process.execPath, PROGRAM: program, LEAVE: join(folder, 'leave') },
      });
      await terminal.sends(/[$#] /);
      terminal.type("PS1='prompt$((40+2)) '\r");
      await terminal.sends(/prompt42/);
      const modes = async (): Promise<string> => {
        terminal.type('stty -g\r');
        const [, told = ''] = await terminal.sends(/([\da-f]+(?::[\da-f]+){8,})[^]*prompt42/);
        return told;
      };
      return { terminal, modes, before: await modes() };
    }

    async function leave(terminal: TerminalProcess): Promise<void> {
      terminal.type('exit\r');
      await terminal.ended;
    }

    it('belongs to the shell while the program is stopped with Ctrl+Z, and to the program again with fg', async () => {
      const { terminal, modes, before } = await shell();
      terminal.type('"$NODE" "$PROGRAM"\r');
      await terminal.sends(/ready/);
      terminal.type('\u001A');
      await terminal.sends(/suspending[^]*Stopped[^]*prompt42/);
      await expect(modes()).resolves.toBe(before);
      terminal.type('fg\r');
      await terminal.sends(/resumed/);
      terminal.type('\u001B[A');
      await terminal.sends(/"name":"up"/);
      terminal.type('q');
      await terminal.sends(/closed[^]*prompt42/);
      await expect(modes()).resolves.toBe(before);
      await leave(terminal);
    });

    it('stays free of a program that goes on in the background, until it is brought back', async () => {
      const { terminal, modes, before } = await shell();
      terminal.type('"$NODE" "$PROGRAM"\r');
      await terminal.sends(/ready/);
      terminal.type('\u001A');
      await terminal.sends(/Stopped[^]*prompt42/);
      terminal.type('bg\r');
      await terminal.sends(/&[^]*prompt42/);
      await expect(modes()).resolves.toBe(before);
      terminal.type('jobs\r');
      await terminal.sends(/Running[^]*prompt42/);
      terminal.type('fg\r');
      await terminal.sends(/resumed/);
      terminal.type('x');
      await terminal.sends(/"text":"x"/);
      terminal.type('q');
      await terminal.sends(/closed[^]*prompt42/);
      await expect(modes()).resolves.toBe(before);
      await leave(terminal);
    });

    it.each(['SIGSTOP', 'SIGTSTP'] as const)(
      'belongs to the program again after a %s that came from elsewhere',
      async (signal) => {
        const { terminal, modes, before } = await shell();
        terminal.type('"$NODE" "$PROGRAM"; true\r');
        await terminal.sends(/ready/);
        terminal.type('p');
        const [, pid] = await terminal.sends(/pid (\d+)/);
        process.kill(Number(pid), signal);
        await terminal.sends(/Stopped[^]*prompt42/);
        await expect(modes()).resolves.toBe(before);
        terminal.type('fg\r');
        await terminal.sends(/resumed/);
        terminal.type('\u001B[A');
        await terminal.sends(/"name":"up"/);
        terminal.type('q');
        await terminal.sends(/closed[^]*prompt42/);
        await expect(modes()).resolves.toBe(before);
        await leave(terminal);
      },
    );

    it('leaves a program that is stopped just before it takes it able to end in the background', async () => {
      const { terminal, modes, before } = await shell();
      terminal.type('"$NODE" "$PROGRAM" --stopped-meanwhile\r');
      await terminal.sends(/Stopped[^]*prompt42/);
      await expect(modes()).resolves.toBe(before);
      terminal.type('kill %1; kill -CONT %1; wait %1; echo ended with $?\r');
      await terminal.sends(/ended with 143[^]*prompt42/);
      await expect(modes()).resolves.toBe(before);
      await leave(terminal);
    });

    it('stays free of a program in the background, which goes on', async () => {
      const { terminal, modes, before } = await shell();
      terminal.type('"$NODE" "$PROGRAM" --busy & wait; echo ended with $?\r');
      await terminal.sends(/no keyboard[^]*has worked[^]*ended with 0[^]*prompt42/);
      await expect(modes()).resolves.toBe(before);
      expect(terminal.raw).not.toContain('Stopped');
      await leave(terminal);
    });

    it('leaves nothing to the shell that was typed for the program', async () => {
      const { terminal } = await shell();
      terminal.type('"$NODE" "$PROGRAM"\r');
      await terminal.sends(/ready/);
      terminal.type('w');
      await terminal.sends(/working/);
      terminal.type('echo stolen$((40+2))\r');
      // Answered behind what was typed, which the terminal has by then.
      await terminal.askModes();
      writeFileSync(join(folder, 'leave'), '');
      await terminal.sends(/prompt42/);
      terminal.type('echo next$((40+2))\r');
      await terminal.sends(/next42[^]*prompt42/);
      expect(terminal.raw).not.toContain('stolen');
      await leave(terminal);
    });
  });
});
