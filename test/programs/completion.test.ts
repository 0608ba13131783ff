import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { writeRunningRecord } from '@svc/record/sessions/running-record.ts';
import { RecordedSession, sessionId } from '../../packages/record/test/journal/recorded-session.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { whyMissing } from '../support/debian-program.ts';
import { liveRecord } from '../support/running-record.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));
const capsule = useCapsules();

type Shell = 'bash' | 'zsh' | 'fish';

/** Types commands into a shell on a terminal, each once the one before has run, and copies what that shows. */
const typing = `
import os, pty, select, sys, time
lines = [line.encode().decode('unicode_escape').encode('latin1') for line in sys.argv[1].split('|')]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown, sent, until = b'', 0, time.monotonic() + 60
while shown.count(b'RAN') < len(lines) and time.monotonic() < until:
    if select.select([terminal], [], [], 1)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    if sent < len(lines) and sent == shown.count(b'RAN') and b'READY> ' in shown[max(0, shown.rfind(b'RAN')):]:
        os.write(terminal, lines[sent])
        sent += 1
os.kill(pid, 9)
sys.stdout.buffer.write(shown)
`;

interface Typed {
  /** What \`svc\` was called with each time. */
  readonly args: readonly (readonly string[])[];
  readonly shown: string;
}

/** A `svc` that answers the completion as ever, and of anything else writes down its arguments. */
function recordingSvc(workspace: Workspace): string {
  const bin = join(workspace.folder, '..', 'bin');
  const file = join(workspace.folder, '..', 'args');
  mkdirSync(bin, { recursive: true });
  rmSync(file, { force: true });
  writeFileSync(
    join(bin, 'svc'),
    `#!/bin/sh
case $1 in
__complete | completion) exec ${process.execPath} ${program} "$@" ;;
esac
printf '%s\\0' "$@" '' >> ${file}
printf 'R%s\\n' AN
`,
  );
  chmodSync(join(bin, 'svc'), 0o755);
  return file;
}

function startOf(shell: Shell, workspace: Workspace): readonly string[] {
  const rc = join(workspace.folder, '..', shell === 'zsh' ? '.zshrc' : `${shell}.rc`);
  const lines = {
    bash: "bind 'set bell-style none'\nsource <(svc completion bash)\nPS1='READY> '\n",
    zsh: "unsetopt beep\nautoload -U compinit\ncompinit -u -D\nsource <(svc completion zsh)\nPS1='READY> '\n",
    fish: "function fish_prompt\n  echo -n 'READY> '\nend\nset fish_greeting\nsvc completion fish | source\n",
  };
  writeFileSync(rc, lines[shell]);
  if (shell === 'bash') return ['bash', '--noprofile', '--rcfile', rc, '-i'];
  if (shell === 'zsh') return ['zsh', '-d', '-i'];
  return ['fish', '--no-config', '-i', '-C', `source ${rc}`];
}

async function typed(shell: Shell, workspace: Workspace, ...keys: readonly string[]): Promise<Typed> {
  const file = recordingSvc(workspace);
  const root = join(workspace.folder, '..');
  const child = spawn('python3', ['-c', typing, keys.join('|'), ...startOf(shell, workspace)], {
    cwd: workspace.folder,
    env: {
      PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: workspace.home,
      ZDOTDIR: root,
      TERM: 'xterm',
      LANG: 'C.UTF-8',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  await once(child, 'close');
  const shown = Buffer.concat(pieces).toString();
  const written = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const args = written
    .split('\0\0')
    .filter((call) => call !== '')
    .map((call) => call.split('\0'));
  return { args, shown };
}

/** Would make a file if a shell ran it. */
const trap = '$(touch pwned)`touch pwned`;touch pwned';

describe.skipIf(!hasPseudoTerminals()).each(['bash', 'zsh', 'fish'] as const)(
  'the completion of %s (skipped without python3)',
  (shell) => {
    let missing: string | null = null;

    beforeAll(() => {
      missing = whyMissing(shell);
    }, 300_000);

    beforeEach((context) => {
      context.skip(missing !== null, missing ?? '');
    });

    it('completes commands, options, choices, sessions, codes, artifacts and files', async () => {
      const workspace = capsule();
      new RecordedSession(workspace.folder, { session: '4f1a' }).close();
      workspace.write('.svc/artifacts/house-rules/1.0.0/house-rules-1.0.0.zip', '');
      const cases: readonly (readonly [string, readonly string[]])[] = [
        ['svc tra\\tli\\t\\r', ['trace', 'list']],
        ['svc sessions --fai\\t\\r', ['sessions', '--failed']],
        ['svc run --output strea\\t\\r', ['run', '--output', 'stream-json']],
        ['svc run --output=strea\\t\\r', ['run', '--output=stream-json']],
        ['svc trace show --json 4f\\t\\r', ['trace', 'show', '--json', '4f1a']],
        ['svc trace show ses_\\t\\r', ['trace', 'show', sessionId('4f1a')]],
        ['svc explain W-MAN-00\\t\\r', ['explain', 'W-MAN-001']],
        ['svc install hous\\t\\r', ['install', 'house-rules@1.0.0']],
        ['svc install house-rules@\\t\\r', ['install', 'house-rules@1.0.0']],
        ['svc install house-rules@1\\t\\r', ['install', 'house-rules@1.0.0']],
        ['svc run --manifest sv\\t\\r', ['run', '--manifest', 'svc.yaml']],
        // A text is completed with nothing.
        ['svc send 4f1a \\tx\\r', ['send', '4f1a', 'x']],
      ];
      const { args } = await typed(shell, workspace, ...cases.map(([keys]) => keys));
      expect(args).toEqual(cases.map(([, wanted]) => wanted));
    }, 90_000);

    it('completes tasks, whatever they say', async () => {
      const workspace = capsule();
      const session = sessionId('4f1a');
      const directory = join(workspace.folder, '.svc/sessions', session);
      mkdirSync(directory, { recursive: true });
      const task = `tsk_${'77c0'.padStart(32, '0')}`;
      const text = `${trap}\u001B]0;title\u0007\n\t%n{}`;
      const line = { event_type: 'task_received', task_id: task, text };
      writeFileSync(join(directory, 'trace.jsonl'), `${JSON.stringify(line)}\n`);
      const record = liveRecord({ session_id: session, session_directory: directory, name: trap });
      const cancelTimer = writeRunningRecord(workspace.home, record);
      const { args, shown } = await typed(shell, workspace, 'svc cancel 4f1a \\t\\r');
      cancelTimer();
      expect(args).toEqual([['cancel', '4f1a', '77c0']]);
      expect(shown).not.toContain('\u001B]0;title');
      expect(existsSync(join(workspace.folder, 'pwned'))).toBe(false);
    });

    it.each([
      ['blanks and quotes', `a ' " b.yaml`],
      ['commands', `${trap}.yaml`],
      ['a line feed and an escape', 'x\n\u001B;touch pwned'],
    ])('quotes files whose names have %s', async (_name, file) => {
      const workspace = capsule();
      for (const name of ['svc.yaml', 'script.yaml']) rmSync(join(workspace.folder, name));
      workspace.write(file, '');
      const { args } = await typed(shell, workspace, 'svc run --manifest \\t\\r');
      expect(existsSync(join(workspace.folder, 'pwned'))).toBe(false);
      expect(args).toEqual([['run', '--manifest', file]]);
    });

    it('offers no name that a shell would act on', async () => {
      const workspace = capsule();
      for (const name of [trap, 'evil\n;touch pwned', 'evil $(touch pwned)']) {
        mkdirSync(join(workspace.folder, '.svc/artifacts', name, '1.0.0'), { recursive: true });
        mkdirSync(join(workspace.folder, '.svc/artifacts/evil', name), { recursive: true });
        mkdirSync(join(workspace.folder, '.svc/sessions', name), { recursive: true });
      }
      const { args } = await typed(shell, workspace, 'svc install evi\\t\\r', 'svc trace show \\tx\\r');
      expect(args).toEqual([
        ['install', 'evi'],
        ['trace', 'show', 'x'],
      ]);
      expect(existsSync(join(workspace.folder, 'pwned'))).toBe(false);
    });
  },
);

describe('svc completion', () => {
  it('says how it is installed, and knows no other shell', async () => {
    const workspace = capsule();
    const { stdout } = await svc(workspace, ['completion', '--help']);
    expect(stdout).toContain("bash  echo 'source <(svc completion bash)' >> ~/.bashrc\n");
    expect(stdout).toContain('fish  svc completion fish > ~/.config/fish/completions/svc.fish\n');
    expect((await svc(workspace, ['completion', 'tcsh'])).code).toBe(2);
    const { script, shell } = JSON.parse((await svc(workspace, ['completion', 'bash', '--json'])).stdout) as {
      readonly script: string;
      readonly shell: string;
    };
    expect({ shell, script }).toEqual({ shell: 'bash', script: (await svc(workspace, ['completion', 'bash'])).stdout });
  });
});

describe('svc __complete', () => {
  it('loads nothing of a capsule, and little more than svc --version', () => {
    const workspace = capsule();
    const list = join(workspace.folder, 'list.cjs');
    writeFileSync(
      list,
      `process.on('exit', () => {
  const files = Object.keys(require.cache).filter((file) => file.includes('/dist/'));
  const bytes = files.filter((file) => !file.endsWith('/svc.cjs')).map((file) => require('node:fs').statSync(file).size);
  require('node:fs').writeFileSync(process.env.LIST, JSON.stringify({ bytes: bytes.reduce((a, b) => a + b, 0) }));
});\n`,
    );
    const measured = (...args: readonly string[]): { bytes: number } => {
      const env = { HOME: workspace.home, LIST: join(workspace.folder, 'list.json') };
      execFileSync(process.execPath, ['--require', list, program, ...args], { cwd: workspace.folder, env });
      return JSON.parse(readFileSync(env.LIST, 'utf8')) as { bytes: number };
    };
    // The parser of command lines is read by every command.
    const usual = measured('--version').bytes;
    for (const kind of ['session', 'running', 'task', 'artifact', 'capsule']) {
      expect(measured('__complete', kind).bytes - usual).toBeLessThan(40_000);
    }
    expect(measured('__complete', 'code').bytes - usual).toBeLessThan(120_000);
  });
});
