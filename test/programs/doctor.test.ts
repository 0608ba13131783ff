import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, type TestContext } from 'vitest';
import { eachFolder } from '../support/each-folder.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const built = join('dist', 'native', `linux-${process.arch}`);

let folder: string;
eachFolder('svc-doctor-', (made) => {
  folder = made;
  for (const path of ['home', 'tmp', 'package']) mkdirSync(join(folder, path));
});

/** An installation of its own, whose parts can be changed. */
function install(): string {
  const root = join(folder, 'package');
  for (const path of ['package.json', 'bin', join('dist', 'svc.cjs'), join('dist', 'late'), built]) {
    cpSync(join(checkout, path), join(root, path), { recursive: true });
  }
  return root;
}

function doctor(root: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin', 'svc.cjs'), 'doctor', ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp'), ...env },
    encoding: 'utf8',
    timeout: 100_000,
  });
  return { code: status, stdout, stderr };
}

function parsed(stdout: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = stdout.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

const advisory = { SVC_CONTAINMENT_CEILING: 'advisory' };

function needsHelper(context: TestContext): void {
  if (existsSync(join(checkout, built, 'svc-attempts'))) return;
  if (process.env['REQUIRE_CONTAINMENT'] === 'sealed') throw new Error('svc-attempts is not built');
  context.skip(true, 'needs Linux');
}

describe('svc doctor', () => {
  it('shows what the host offers', (context) => {
    needsHelper(context);
    const root = install();
    const { code, stdout, stderr } = doctor(root, [], advisory);
    expect({ code, stderr, stdout: stdout.replace(/(?<=grant: +)(granted|denied|not needed)$/m, 'as it is') }).toEqual({
      code: 0,
      stderr: '',
      stdout: `node:          ${process.version}
home:          ${join(folder, 'home')} (writable)
containment:   advisory
mechanism:     seccomp-only
userns grant:  as it is
not stronger:  SVC_CONTAINMENT_CEILING is advisory
helper:        ${join(root, built, 'svc-launch')}
`,
    });
  });

  it('says that there is no helper, and why nothing is enforced then', (context) => {
    needsHelper(context);
    const root = install();
    rmSync(join(root, built), { recursive: true });
    const { code, stdout } = doctor(root, ['--json']);
    expect({ code, report: parsed(stdout) }).toEqual({
      code: 0,
      report: [
        {
          node: process.version,
          home: join(folder, 'home'),
          home_writable: true,
          containment: 'advisory',
          mechanism: 'none',
          userns_grant: 'n/a',
          not_stronger:
            'the helper svc-launch is missing: install svc anew, or run npm run build in a checkout, which says what it needs',
          helper: null,
          https_proxy: null,
          http_proxy: null,
          no_proxy: null,
          logins: [],
          problems: [],
        },
      ],
    });
  });
});

describe('svc doctor, where something is kept of the host,', () => {
  it('tries it anew, and keeps what it finds', (context) => {
    needsHelper(context);
    const root = install();
    const now = parsed(doctor(root, ['--json']).stdout);
    const kept = join(folder, 'home', '.svc', 'cache', 'containment.json');
    context.skip(!existsSync(kept), 'runs behind a filter, where nothing is kept');
    const text = readFileSync(kept, 'utf8');
    const { key, ability } = JSON.parse(text) as { key: string; ability: object };
    const outdated = {
      landlockAbi: null,
      root: null,
      obstacles: { sealed: 'as it was', scoped: 'as it was', filter: null },
    };
    writeFileSync(kept, JSON.stringify({ key, ability: { ...ability, ...outdated } }), { mode: 0o600 });
    expect(parsed(doctor(root, ['--json']).stdout)).toEqual(now);
    expect(readFileSync(kept, 'utf8')).toBe(text);
  });
});

describe('svc doctor, run by root', () => {
  it('finds what the host gives although the home belongs to another user', (context) => {
    needsHelper(context);
    context.skip(process.getuid?.() !== 0, 'needs to be run as root');
    const root = install();
    const own = parsed(doctor(root, ['--json']).stdout);
    const home = join(folder, 'other');
    mkdirSync(home, { mode: 0o700 });
    chownSync(home, 1000, 1000);
    const { code, stdout } = doctor(root, ['--json'], { HOME: home });
    expect({ code, report: parsed(stdout) }).toEqual({
      code: 0,
      report: own.map((report) => Object.assign(report, { home })),
    });
  });
});

describe('svc doctor --containment', { timeout: 100_000 }, () => {
  it('makes every attempt, says what became of each, and leaves nothing behind', (context) => {
    needsHelper(context);
    const { code, stdout, stderr } = doctor(install(), ['--containment'], advisory);
    const lines = stdout.trimEnd().split('\n');
    expect({ code, stderr, last: lines.at(-1) }).toEqual({
      code: 0,
      stderr: '',
      last: 'advisory: 137 as promised, 1 not made',
    });
    expect(lines).toHaveLength(139);
    expect(lines).toContain(
      'ok                  advisory  unshare-user: enter a user namespace of its own (refused EPERM)',
    );
    expect(lines).toContain(
      'ok                  advisory  read-outside: read a file outside the workdir (allowed, and nothing is promised)',
    );
    expect(lines).toContain(
      'ok                  advisory  interpret: have a listed shell read a script in the workdir (allowed, as it is granted)',
    );
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  });

  it('says what is not as promised when the helper contains nothing, and exits with 1', (context) => {
    needsHelper(context);
    const root = install();
    weaken(join(root, built, 'svc-launch'));
    const { code, stdout } = doctor(root, ['--containment', '--json'], advisory);
    const lines = parsed(stdout);
    expect(code).toBe(1);
    expect(lines.find(({ attempt }) => attempt === 'unshare-user')).toEqual({
      class: 'advisory',
      attempt: 'unshare-user',
      title: 'enter a user namespace of its own',
      promised: 'stopped',
      seen: 'allowed',
      as_promised: false,
    });
    expect(lines.find(({ attempt }) => attempt === 'plan-truncated')).toMatchObject({ as_promised: false });
    const { not_as_promised: broken, ...summary } = lines.at(-1) ?? {};
    expect(summary).toMatchObject({ class: 'advisory', mechanism: 'seccomp-only', not_made: 1 });
    expect(lines.filter((line) => line['as_promised'] === false)).toHaveLength(Number(broken));
    expect(Number(broken)).toBeGreaterThan(30);
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  });

  it('promises nothing where no kernel enforces anything', (context) => {
    needsHelper(context);
    const root = install();
    rmSync(join(root, built), { recursive: true });
    expect(doctor(root, ['--containment'])).toEqual({
      code: 0,
      stdout: '',
      stderr:
        'this host enforces nothing, so there is nothing to check: the helper svc-launch is missing: install svc anew, or run npm run build in a checkout, which says what it needs\n',
    });
  });

  it('fails without the program that makes the attempts', (context) => {
    needsHelper(context);
    const root = install();
    unlinkSync(join(root, built, 'svc-attempts'));
    const { code, stderr } = doctor(root, ['--containment']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-CAP-015\]: .*svc-attempts is missing; svc doctor --containment needs it\n/);
  });
});

describe('svc doctor --programs', { timeout: 100_000 }, () => {
  /** Programs of the system, and one that is played. */
  function searchPath(name: string, played: string): string {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    for (const each of ['sh', 'cat', 'env']) symlinkSync(join('/bin', each), join(bin, each));
    symlinkSync(process.execPath, join(bin, 'node'));
    writeFileSync(join(bin, name), `#!/bin/sh\n${played}\n`, { mode: 0o755 });
    return bin;
  }

  it('says what works, and of the rest what it said and what to do next', (context) => {
    needsHelper(context);
    const root = install();
    const hidden = join(folder, 'sdk', 'lib');
    mkdirSync(hidden, { recursive: true });
    const PATH = searchPath(
      'git',
      `echo "begins" >&2; echo "fatal: cannot open ${hidden}: no such folder" >&2; exit 1`,
    );
    const { code, stdout, stderr } = doctor(root, ['--programs'], { PATH });
    const [heading = '', ...rows] = stdout.trimEnd().split('\n');
    context.skip(heading.includes('advisory'), 'needs a class that hides files');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(heading).toMatch(/^Each is tried in (?:sealed|scoped), with workdir_exec and 1024 MiB/);
    expect(rows.slice(0, 5)).toEqual([
      'does NOT work  git: makes a repository and a commit (shell.allow: git)',
      `               it said: fatal: cannot open ${hidden}: no such folder`,
      `               next: it names ${hidden}, which it may not see: list that, or the folder of git around it, in capabilities.filesystem.host_read`,
      'works          node: runs a module that starts a child (shell.allow: node)',
      'not installed  npm: npm',
    ]);
    expect(rows.at(-1)).toBe('1 work, 1 do not, 12 are not installed');
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  });

  it('ends what it tries and removes it when it is interrupted', async (context) => {
    needsHelper(context);
    const root = install();
    const env = {
      PATH: searchPath('git', 'while :; do :; done'),
      HOME: join(folder, 'home'),
      TMPDIR: join(folder, 'tmp'),
    };
    const child = spawn(process.execPath, [join(root, 'bin', 'svc.cjs'), 'doctor', '--programs'], { cwd: folder, env });
    const output = text(child.stdout);
    await once(child.stdout, 'readable');
    await expect.poll(() => readdirSync(env.TMPDIR)).not.toEqual([]);
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    expect({ code, rows: (await output).trimEnd().split('\n').slice(1) }).toEqual({ code: 1, rows: [] });
    expect(readdirSync(env.TMPDIR)).toEqual([]);
  });
});

/**
 * In place of the helper, something that starts the program where the plan says and takes nothing else from the plan: it contains
 * nothing. Without a directory it starts nothing: attempts leave files where they are made.
 */
const weakHelper = String.raw`#!/bin/sh
PATH=/usr/bin:/bin
[ $# -gt 0 ] || { echo usage >&2; exit 125; }
directory=$(tr '\0' '\n' <&3 | sed -n '/^cwd$/{n;p;}')
[ -d "$directory" ] && cd "$directory" || exit 125
path=$5
shift 6
exec "$path" "$@" 4>&-
`;

function weaken(helper: string): void {
  unlinkSync(helper);
  writeFileSync(helper, weakHelper);
  chmodSync(helper, 0o755);
}
