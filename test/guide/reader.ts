import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { installCommand } from '../support/author-packages.ts';
import { classWarning } from '../support/svc-process.ts';
import { type Listing, shownAs } from './listings.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

export interface ReaderOptions {
  readonly holds?: 'nothing' | 'as the host can';
  readonly env?: Readonly<Record<string, string>>;
}

type Commands = Extract<Listing, { kind: 'commands' }>;

/**
 * A reader of a guide: writes its files below one fresh folder and types its commands, with `svc` on the path. It types all but one line
 * unchanged: `npm install` would ask a registry, so it gets an option against that, and the packages that it would get are linked from this checkout.
 */
export class Reader {
  readonly #root = mkdtempSync(join(tmpdir(), 'svc-guide-'));
  readonly folder: string = join(this.#root, 'guide');
  readonly #env: NodeJS.ProcessEnv;
  #cwd = this.folder;
  readonly #terminals: OtherTerminal[] = [];
  #other: OtherTerminal | null = null;

  /** `holds: 'as the host can'` leaves programs as contained as this machine has them; otherwise no page depends on what that is. */
  constructor({ holds = 'nothing', env = {} }: ReaderOptions = {}) {
    const bin = join(this.#root, 'bin');
    for (const folder of [this.folder, bin, join(this.#root, 'home')]) mkdirSync(folder);
    for (const name of ['svc', 'svc-referee']) {
      writeFileSync(join(bin, name), `#!/bin/sh\nexec "${process.execPath}" "${checkout}bin/${name}.cjs" "$@"\n`);
      chmodSync(join(bin, name), 0o755);
    }
    this.#env = {
      PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
      HOME: join(this.#root, 'home'),
      NPM_CONFIG_UPDATE_NOTIFIER: 'false',
      ...(holds === 'nothing' ? { SVC_CONTAINMENT_CEILING: 'advisory' } : {}),
      ...env,
    };
  }

  write(path: string, text: string): void {
    const target = join(this.folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }

  /** Copies what lies in a folder into the reader's. */
  take(folder: string): void {
    cpSync(folder, this.folder, { recursive: true });
  }

  /** Types commands and waits for their end; the folder they leave the reader in is that of the next ones. */
  async type({ text }: Commands): Promise<Ended> {
    const outputFile = join(this.#root, 'output');
    const cwdFile = join(this.#root, 'cwd');
    const output = openSync(outputFile, 'w');
    const script = `set -e\ntrap 'pwd > "${cwdFile}"' EXIT\n${withoutRegistry(text)}`;
    const shell = spawn('bash', ['-c', script], { cwd: this.#cwd, env: this.#env, stdio: ['ignore', output, output] });
    closeSync(output);
    const [code] = (await once(shell, 'close')) as [number | null];
    if (existsSync(cwdFile)) this.#cwd = readFileSync(cwdFile, 'utf8').trim();
    // The ceiling above gives each run with programs a line that a reader's own host has no reason for.
    const shown = readFileSync(outputFile, 'utf8').replaceAll(new RegExp(classWarning, 'gm'), '');
    return { code, output: shown };
  }

  /** Types one command and resolves once it has shown `output`. `until-shown` is then ended as by Ctrl-C, the other terminal goes on. */
  async typeUntilShown({ text, output, terminal }: Commands): Promise<void> {
    const started = new OtherTerminal(text, { cwd: this.#cwd, env: this.#env });
    this.#terminals.push(started);
    if (terminal === 'other') this.#other = started;
    await started.shown(shownAs(output ?? ''));
    if (terminal === 'until-shown') await started.interrupt();
  }

  async otherEnded(): Promise<Ended> {
    if (this.#other === null) throw new Error('nothing runs in another terminal');
    return await this.#other.ended;
  }

  async remove(): Promise<void> {
    await Promise.all(this.#terminals.map((terminal) => terminal.interrupt()));
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** A terminal in which one command runs. */
class OtherTerminal {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ended>;
  #output = '';
  #changed: (() => void)[] = [];

  constructor(command: string, { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
    this.#child = spawn('bash', ['-c', `exec ${command}`], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (piece: string) => this.#note(piece));
    }
    this.ended = once(this.#child, 'close').then(([code]) => {
      this.#note('');
      return { code: code as number | null, output: this.#output };
    });
  }

  async shown(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#output)) {
      if (this.#child.exitCode !== null) throw new Error(`it ended without ${pattern}:\n${(await this.ended).output}`);
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  async interrupt(): Promise<void> {
    this.#child.kill('SIGINT');
    await this.ended;
  }

  #note(text: string): void {
    this.#output += text;
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

function withoutRegistry(text: string): string {
  return text.replaceAll(/^npm install$/gm, installCommand);
}
