/** Tries what this machine can enforce, by doing it to a process of its own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { containedHome } from './contained-environment.ts';
import type { PlanRequest } from './launch/compose-plan.ts';
import type { Enforcement } from './launch/enforcement.ts';
import { type ComposedRoot, type HostAbility, landlockAbis, minAbiForScoped } from './launch/host-ability.ts';
import { LaunchTemplates, UnwrittenTemplate } from './launch/launch-templates.ts';
import { describeFailure, readLaunchStatus, type LaunchFailure } from './contained-launcher.ts';
import { minimalGrants } from './launch/process-grants.ts';
import { keepUsers, unusedUser, type UserIdentity } from './limits/session-limits.ts';
import { isMappable, ownGroupFacts } from './own-facts.ts';

interface ProbeRequest {
  /** `svc-launch`, which is what is started: it needs no other file. */
  readonly helper: string;
  /** A filter for a process that is granted nothing. */
  readonly filter: Buffer;
  /** An existing directory of ours for what the probe needs; nothing is left in it. */
  readonly directory: string;
  /** Without a user namespace only the superuser may compose a root. */
  readonly isSuperuser: boolean;
  readonly self: UserIdentity;
}

/**
 * What this host can enforce, found by doing it: each class is constructed around a process of its own, the strongest variant first
 * (D1 "Command line" 2). No version is looked at.
 */
export async function probeHost(request: ProbeRequest): Promise<HostAbility> {
  const directory = realpathSync(mkdtempSync(join(request.directory, 'probe-')));
  try {
    mkdirSync(containedHome(directory), { recursive: true });
    return await new Probe(request, directory).run();
  } finally {
    // Not synchronously: from Node 24 on, `rmSync` throws errors without a code.
    await rm(directory, { recursive: true, force: true });
  }
}

/** More than the limit that is tried. */
const [granted, tried] = [64, 70];

interface ProbeStart {
  readonly enforcement: Enforcement;
  readonly users: PlanRequest['users'];
  /** The arguments with which the helper is the program that is started. */
  readonly args: readonly string[];
}

interface ProbeEnd {
  readonly failure: LaunchFailure | null;
  readonly said: string;
  readonly complaint: string;
  readonly signal: NodeJS.Signals | null;
}

class Probe {
  readonly #request: ProbeRequest;
  readonly #directory: string;

  constructor(request: ProbeRequest, directory: string) {
    this.#request = request;
    this.#directory = directory;
  }

  async run(): Promise<HostAbility> {
    const nothing = { filter: false, landlockAbi: null, root: null, users: false };
    const unfiltered = await this.#failure({ class: 'advisory' });
    if (unfiltered !== null) {
      const obstacle = `no system call filter can be installed: ${describeFailure(unfiltered)}`;
      return { ...nothing, obstacles: { filter: obstacle, scoped: obstacle, sealed: obstacle } };
    }
    const landlock = await this.#landlock();
    if (landlock.abi === null) {
      return {
        ...nothing,
        filter: true,
        obstacles: { scoped: landlock.obstacle, sealed: landlock.obstacle, filter: null },
      };
    }
    const root = await this.#root(landlock.abi);
    return {
      filter: true,
      landlockAbi: landlock.abi,
      root: root.found,
      users: root.found?.userNamespace === true && (await this.#keepsUsers(landlock.abi, root.found)),
      obstacles: {
        scoped: landlock.abi >= minAbiForScoped ? null : tooOld(landlock.abi),
        sealed: root.obstacle,
        filter: null,
      },
    };
  }

  async #landlock(): Promise<{ abi: number; obstacle: null } | { abi: null; obstacle: string }> {
    let last: LaunchFailure | null = null;
    for (const abi of landlockAbis) {
      last = await this.#failure({ class: 'scoped', landlockAbi: abi });
      if (last === null) return { abi, obstacle: null };
    }
    return { abi: null, obstacle: `access to files cannot be mediated: ${last === null ? '' : describeFailure(last)}` };
  }

  async #root(
    landlockAbi: number,
  ): Promise<{ found: ComposedRoot; obstacle: null } | { found: null; obstacle: string }> {
    const variants = [true, ...(this.#request.isSuperuser ? [false] : [])].flatMap((userNamespace) =>
      [true, false].map((proc) => ({ userNamespace, proc })),
    );
    let first: LaunchFailure | null = null;
    for (const root of variants) {
      const failure = await this.#failure({ class: 'sealed', landlockAbi, root });
      if (failure === null) return { found: root, obstacle: null };
      first ??= failure;
    }
    return {
      found: null,
      obstacle: `no root of its own can be composed: ${first === null ? '' : describeFailure(first)}`,
    };
  }

  /** Whether a namespace that is kept can be joined, and no more live in it than it is said to let live. */
  async #keepsUsers(landlockAbi: number, root: ComposedRoot): Promise<boolean> {
    const { helper, isSuperuser, self } = this.#request;
    const kept = await keepUsers(helper, { outside: isSuperuser ? unusedUser() : self.uid, self });
    if (kept === null) return false;
    try {
      const { mounts } = ownGroupFacts();
      // Where its owner cannot be changed, it is still to be entered.
      chmodSync(this.#directory, 0o755);
      const users = isMappable(this.#directory, mounts) ? kept.users : { ...kept.users, mounts: null };
      const enforcement = { class: 'sealed', landlockAbi, root } as const;
      const { failure, said } = await this.#start({ enforcement, users, args: ['forks', `${tried}`] });
      return failure === null && Number(said) >= 1 && Number(said) <= granted;
    } finally {
      kept.close();
    }
  }

  /** Returns null when the helper could start itself behind all of it. */
  async #failure(enforcement: Enforcement): Promise<LaunchFailure | null> {
    const { failure, complaint, signal } = await this.#start({ enforcement, users: null, args: [] });
    if (failure !== null) return failure;
    // Started without a plan, the helper complains: only then did it come as far as that.
    return complaint === '' ? { stage: 'launch', error: signal ?? 'nothing', detail: '' } : null;
  }

  async #start({ enforcement, users, args }: ProbeStart): Promise<ProbeEnd> {
    const { helper, filter } = this.#request;
    const templates = new LaunchTemplates({
      enforcement,
      grants: { ...minimalGrants, limits: { ...minimalGrants.limits, processes: granted } },
      cgroups: { joins: [], room: null },
      users,
      workdir: this.#directory,
      privateDirectory: this.#directory,
      filter,
      filesOf: (programs) => ({ read: [], execute: programs, links: [], problems: [] }),
      // High enough for whatever runs: the limit itself is not what is tried.
      countProcesses: () => 100_000,
    });
    try {
      const template = templates.templateFor({ program: helper, commands: [], searchPath: [] });
      const child = spawn(helper, ['3', '4', '5', '-', helper, 'svc-launch', ...args], {
        cwd: '/',
        env: {},
        stdio: ['ignore', 'pipe', 'pipe', template.plan, 'pipe', template.filter],
      });
      const closed = once(child, 'close');
      // Without descriptors to make them of there are no streams, and `closed` throws why.
      if (child.pid === undefined) await closed;
      const { stdout, stderr, stdio } = child;
      const status = stdio[4];
      if (!(status instanceof Readable) || stdout === null || stderr === null) {
        throw new Error('a started helper lacks its status');
      }
      const [failure, said, complaint] = await Promise.all([readLaunchStatus(status), text(stdout), text(stderr)]);
      const [, signal] = await closed;
      return { failure, said, complaint, signal: signal as NodeJS.Signals | null };
    } catch (error) {
      // What the system refuses here says nothing of containment: there is no launch that could be refused for it.
      throw error instanceof UnwrittenTemplate ? error.cause : error;
    } finally {
      templates.close();
    }
  }
}

function tooOld(abi: number): string {
  return `Landlock version ${abi} of this kernel cannot keep signals in; ${minAbiForScoped} is needed`;
}
