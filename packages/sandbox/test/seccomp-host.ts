import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { assemble } from '../src/seccomp/assemble.ts';
import { type FilterGrants, syscallPolicy } from '../src/seccomp/policy.ts';
import type { Architecture, Call } from './seccomp-cases.ts';

/** Is null if svc makes no filters for this machine. */
export const hostArchitecture: Architecture | null =
  process.platform !== 'linux'
    ? null
    : (({ x64: 'x86_64', arm64: 'aarch64' } as const)[process.arch as 'x64' | 'arm64'] ?? null);

export const isRoot = process.getuid?.() === 0;

/** Root as on a machine of its own, and not as in most containers. */
export function isUnrestricted(): boolean {
  return isRoot && /^Seccomp:\t0$/m.test(readFileSync('/proc/self/status', 'utf8')) && hasSystemAdministration();
}

function hasSystemAdministration(): boolean {
  const [, effective = '0'] = /^CapEff:\t(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return (BigInt(`0x${effective}`) & (1n << 21n)) !== 0n;
}

export const hasProgram = (name: string): boolean =>
  spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined;

/** In continuous integration a missing compiler is a failure, elsewhere a reason to skip. */
export const canProbe =
  hostArchitecture !== null && (process.env['REQUIRE_CONTAINMENT'] === 'sealed' || hasProgram('cc'));

/** Puts filters before this machine's kernel. Its directory is removed by `close`. */
export class SeccompHost {
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-seccomp-'));
  readonly #probe = join(this.directory, 'probe');
  #made = 0;

  constructor() {
    chmodSync(this.directory, 0o755);
    const sources = ['seccomp-probe.c', 'seccomp-attempts.c'].map((file) =>
      fileURLToPath(new URL(file, import.meta.url)),
    );
    execFileSync('cc', ['-O1', '-Wall', '-Wextra', '-Werror', '-pthread', '-o', this.#probe, ...sources, '-lutil']);
  }

  /** A new empty directory that anybody may write to. */
  emptyDirectory(): string {
    const path = join(this.directory, `${this.#made++}`);
    mkdirSync(path);
    chmodSync(path, 0o777);
    return path;
  }

  filterFile(filter: Buffer): string {
    const path = join(this.directory, `${this.#made++}.filter`);
    writeFileSync(path, filter);
    return path;
  }

  filterFor(grants: FilterGrants): string {
    return this.filterFile(assemble(syscallPolicy(grants)));
  }

  /** The error number of each call, -1 for one that ended the process. */
  verdicts(filter: Buffer, calls: readonly Call[]): readonly number[] {
    const input = Buffer.alloc(calls.length * 56);
    for (const [index, { number, args }] of calls.entries()) {
      input.writeBigUInt64LE(BigInt(number), index * 56);
      for (const [place, value] of args.entries()) input.writeBigUInt64LE(value, index * 56 + 8 + place * 8);
    }
    const output = execFileSync(this.#probe, ['verdicts', this.filterFile(filter)], { input, maxBuffer: 2 ** 26 });
    return Array.from({ length: output.length / 4 }, (_, index) => output.readInt32LE(index * 4));
  }

  /** What every attempt of `seccomp-attempts.c` came to, by name. `filter` null tries without one. */
  attempts(filter: string | null, uid?: number): Readonly<Record<string, string>> {
    const user = uid === undefined ? {} : { uid, gid: uid };
    const options = { cwd: this.emptyDirectory(), encoding: 'utf8', ...user } as const;
    const lines = execFileSync(this.#probe, ['attempts', filter ?? '-'], options)
      .trim()
      .split('\n');
    return Object.fromEntries(lines.map((line): [string, string] => splitAt(line, line.indexOf(' '))));
  }

  /** Runs a program; its standard output, or its exit code and everything it said when it failed. */
  run(filter: string, command: readonly string[], directory = this.emptyDirectory()): string {
    const { status, signal, stdout, stderr } = spawnSync(
      this.#probe,
      ['exec', filter, ...command],
      optionsIn(directory),
    );
    return status === 0 ? stdout : `${status ?? signal}: ${stdout}${stderr}`;
  }

  /** The same while this process goes on, for programs that talk to it. */
  async start(filter: string, command: readonly string[]): Promise<string> {
    return await new Promise((done) => {
      execFile(this.#probe, ['exec', filter, ...command], optionsIn(this.emptyDirectory()), (error, stdout, stderr) =>
        done(error === null ? stdout : `${error.code ?? error.signal}: ${stdout}${stderr}`),
      );
    });
  }

  close(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

const splitAt = (line: string, at: number): [string, string] => [line.slice(0, at), line.slice(at + 1)];

const optionsIn = (directory: string) => ({
  cwd: directory,
  env: { PATH: process.env['PATH'] ?? '', HOME: directory, LC_ALL: 'C' },
  encoding: 'utf8' as const,
  timeout: 60_000,
});
