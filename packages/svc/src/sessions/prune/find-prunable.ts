/** Finds what a workspace keeps of sessions that have ended. */

import { readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { isBeneath } from '@svc/kit/files/resolve-beneath.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { readRunningRecords, type RunningRecord } from '@svc/record/sessions/running-record.ts';
import { adhocRoot } from '@svc/record/sessions/adhoc-root.ts';
import { notOwn } from '@svc/record/journal/line-file.ts';
import { holdSession } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { factsOf, type SessionFacts } from '@svc/record/sessions/session-facts.ts';
import { lastWrite, mayRun, ownEntry, sessionsFolder, writtenAt } from '@svc/record/sessions/live-sessions.ts';
import { isAside, sessionAside } from './remove-aside.ts';
import { testedSessions } from './tested-sessions.ts';
import { treeBytes } from './tree-size.ts';

/** A name in a folder below the workspace, or below the user's home for `~/`. */
export interface Place {
  readonly folder: string;
  readonly name: string;
}

/** Something that can go. `rest` is what a removal that was broken off has left. */
export interface Prunable {
  readonly kind: 'session' | 'workdir' | 'capsule' | 'server' | 'cache' | 'artifact' | 'rest';
  /** For a session its id. */
  readonly name: string;
  /** The first goes first: who reads what is left finds none. */
  readonly places: readonly Place[];
  readonly bytes: number;
  /** In Unix milliseconds: when a session and its workdir began, or when anything else was last written. */
  readonly atMs: number;
}

export interface PruneRequest {
  /** Where `.svc/` and `workdir/` of the workspace lie. */
  readonly root: string;
  /** Another folder of the home where the same workspace has both, `~/…`; null where it has none. */
  readonly also: string | null;
  /** Where its recorded tests lie. */
  readonly testsRoot: string;
  readonly home: string;
  /** How many of the newest sessions that have ended stay. */
  readonly keep: number;
  /** What is of this time or later stays; `Infinity` keeps nothing. */
  readonly beforeMs: number;
  readonly caches: boolean;
  readonly nowMs: number;
  readonly onProgress: (text: string) => void;
  /** Called with sessions that the limits would not keep, and that stay as they may be starting. */
  readonly onStarting: (starting: StartingSessions) => void;
  /** Called with what cannot be looked at, and therefore stays. */
  readonly onProblem: (problem: Diagnostic) => void;
}

export interface StartingSessions {
  readonly ids: readonly [string, ...string[]];
  /** In Unix milliseconds: from then on none of them is taken for one that starts. */
  readonly untilMs: number;
}

export const workdirFolder = 'workdir';
const workdirRecords = '.svc/workdirs';
const capsulesFolder = '.svc/capsules';
/** What `svc --mcp` keeps of the servers that it was given, in the workspace of tasks without a manifest. */
const serversFolder = 'servers';
const cacheFolder = '~/.svc/cache';
/** In it, folders with a server of a package each. */
const serverCaches: readonly string[] = ['npx', 'uvx'];

/** For so long after its last write a session without an end may be one that starts, and a capsule one that was just unpacked for it. */
const startMs = 3_600_000;
/** All that may go, in the order in which it is listed: sessions, the oldest first, then what belongs to none. */
export async function findPrunable(request: PruneRequest): Promise<readonly Prunable[]> {
  return await new PruneSearch(request).run();
}

/** The folder of a place, which the caller closes; null without one. Throws `E-RUN-072` for a link on the way, and for one of another user. */
export function openPlace({ root, home }: Pick<PruneRequest, 'root' | 'home'>, folder: string): HeldDirectory | null {
  try {
    const base = HeldDirectory.at(folder.startsWith('~/') ? home : root);
    try {
      const directory = base.below(folder.replace(/^~\//, ''));
      if (thisUser() === null || statSync(directory.path).uid === thisUser()) return directory;
      directory.close();
      throw notOwn(`${folder} belongs to another user`);
    } finally {
      base.close();
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw isObstacle(error) ? notOwn(`${folder} is a link or a file`) : ioFault(error, `cannot open ${folder}`);
  }
}

interface Ended {
  readonly facts: SessionFacts;
  readonly atMs: number;
  /** It is null for a session that has come to an end; for any other, until when it may be one that starts. */
  readonly startsUntilMs: number | null;
  /** What its places begin with. */
  readonly base: string;
}

class PruneSearch {
  readonly #request: PruneRequest;
  readonly #records: readonly RunningRecord[];
  readonly #running: ReadonlySet<string>;
  /** `<name>-<version>` of capsules that run here. */
  readonly #runningCapsules: Set<string>;
  /** Sessions whose folders are there. */
  readonly #known = new Set<string>();
  /** Sessions whose removal was broken off, or goes on elsewhere. */
  readonly #begun = new Set<string>();

  constructor(request: PruneRequest) {
    this.#request = request;
    this.#records = readRunningRecords(request.home);
    this.#running = new Set(this.#records.map(({ session_id: id }) => id));
    this.#runningCapsules = new Set(this.#records.map(({ name, version }) => `${name}-${version}`));
  }

  async run(): Promise<readonly Prunable[]> {
    const bases = ['', ...(this.#request.also === null ? [] : [`${this.#request.also}/`])];
    const within = async (find: (base: string) => Promise<readonly Prunable[]>): Promise<readonly Prunable[]> => {
      const found: Prunable[] = [];
      for (const base of bases) found.push(...(await find(base)));
      return found;
    };
    const ended: Ended[] = [];
    const rests = await within(
      async (base) => await this.#in(`${base}${sessionsFolder}`, async (held) => this.#look(held, { base, ended })),
    );
    const sessions = await this.#sessions(ended);
    return [
      ...sessions,
      ...rests,
      ...(await within(
        async (base) => await this.#in(`${base}${workdirFolder}`, async (held) => await this.#workdirs(held, base)),
      )),
      ...(await within(
        async (base) => await this.#in(`${base}${capsulesFolder}`, async (held) => await this.#capsules(held, base)),
      )),
      ...(await this.#servers(ended, sessions)),
      ...(this.#request.caches ? await this.#allCaches() : []),
    ];
  }

  /** What is found in a folder, and what broken off removals have left there. */
  async #in(folder: string, find: (held: HeldDirectory) => Promise<readonly Prunable[]>): Promise<readonly Prunable[]> {
    const held = this.#unlessProblem(() => openPlace(this.#request, folder));
    if (held === null) return [];
    try {
      const found = [...(await find(held))];
      for (const name of readdirSync(held.path).filter(isAside)) {
        this.#begun.add(sessionAside(name) ?? name);
        const bytes = await treeBytes(held, name);
        found.push({ kind: 'rest', name, places: [{ folder, name }], bytes, atMs: writtenAt(held, name) });
      }
      return found;
    } finally {
      held.close();
    }
  }

  /** Adds the sessions of a folder that have ended. */
  #look(sessions: HeldDirectory, { base, ended }: { readonly base: string; readonly ended: Ended[] }): [] {
    const ids = readdirSync(sessions.path).filter(isSessionId);
    for (const [index, id] of ids.entries()) {
      this.#request.onProgress(`looking at session ${index + 1} of ${ids.length}`);
      this.#known.add(id);
      const found = this.#unlessProblem(() => this.#ended(sessions, id));
      if (found !== null) ended.push({ ...found, base });
    }
    return [];
  }

  async #sessions(ended: readonly Ended[]): Promise<readonly Prunable[]> {
    const tested = ended.length === 0 ? new Set<string>() : await testedSessions(this.#request.testsRoot);
    const isDone = ({ startsUntilMs }: Ended): boolean => startsUntilMs === null;
    this.#tellStarting(this.#beyond(ended, tested).filter((each) => !isDone(each)));
    const beyond = this.#beyond(ended.filter(isDone), tested);
    const found: Prunable[] = [];
    for (const { facts, atMs, base } of beyond.toReversed()) {
      this.#request.onProgress(`measuring ${found.length + 1} of ${beyond.length}`);
      const name = facts.session_id;
      const places = [{ folder: `${base}${sessionsFolder}`, name }, ...this.#workdirOf(name, base)];
      found.push({ kind: 'session', name, places, bytes: await this.#bytes(places), atMs });
    }
    return found;
  }

  /** What is there of the workdir of a session, unless another one works in it. */
  #workdirOf(id: string, base: string): readonly Place[] {
    if (!this.#isWorkdirFree(id, base)) return [];
    return [...this.#own(`${base}${workdirFolder}`, id), ...this.#own(`${base}${workdirRecords}`, `${id}.json`)];
  }

  /** What neither of the two limits keeps, the newest first. */
  #beyond(sessions: readonly Ended[], tested: ReadonlySet<string>): readonly Ended[] {
    const { keep, beforeMs } = this.#request;
    return sessions
      .toSorted((a, b) => b.atMs - a.atMs || (a.facts.session_id < b.facts.session_id ? 1 : -1))
      .filter(({ atMs, facts }, index) => index >= keep && atMs < beforeMs && !tested.has(facts.session_id));
  }

  #tellStarting(starting: readonly Ended[]): void {
    const [first, ...rest] = starting.map(({ facts }) => facts.session_id);
    if (first === undefined) return;
    const untilMs = Math.max(...starting.map(({ startsUntilMs }) => startsUntilMs ?? 0));
    this.#request.onStarting({ ids: [first, ...rest], untilMs });
  }

  /** Returns null for a session that runs. */
  #ended(sessions: HeldDirectory, id: string): Omit<Ended, 'base'> | null {
    const directory = holdSession(sessions.path, id);
    try {
      const isRunning = this.#running.has(id) || mayRun(directory, this.#running, this.#request.nowMs);
      const facts = factsOf(id, directory, isRunning);
      const { capsule, version, status, started_at_ms: startedAtMs } = facts;
      const writtenMs = lastWrite(directory);
      const mayStart = ['crashed', 'not-started'].includes(status) && this.#request.nowMs - writtenMs < startMs;
      const mayGo = status !== 'running' && !mayStart;
      if (!mayGo && capsule !== null && version !== null) this.#runningCapsules.add(`${capsule}-${version}`);
      if (status === 'running') return null;
      return { facts, atMs: startedAtMs ?? writtenMs, startsUntilMs: mayStart ? writtenMs + startMs : null };
    } finally {
      directory.close();
    }
  }

  /** Workdirs of sessions whose folders are gone: `svc trace rm` leaves them, and so does a removal that is broken off. */
  async #workdirs(workdirs: HeldDirectory, base: string): Promise<readonly Prunable[]> {
    const found: Prunable[] = [];
    for (const name of readdirSync(workdirs.path).filter(isSessionId)) {
      const atMs = writtenAt(workdirs, name);
      const isYoung = this.#request.nowMs - atMs < startMs && !this.#begun.has(name);
      if (this.#known.has(name) || this.#running.has(name) || isYoung || atMs >= this.#request.beforeMs) continue;
      const places = this.#workdirOf(name, base);
      if (places.length > 0) found.push({ kind: 'workdir', name, places, bytes: await this.#bytes(places), atMs });
    }
    return found;
  }

  async #capsules(capsules: HeldDirectory, base: string): Promise<readonly Prunable[]> {
    const found: Prunable[] = [];
    for (const name of readdirSync(capsules.path)) {
      const [, capsule] = /^(.+)-[0-9a-f]{16}$/.exec(name) ?? [];
      const atMs = Math.max(writtenAt(capsules, name), writtenAt(capsules, `${name}/svc.lock`));
      const isYoung = this.#request.nowMs - atMs < startMs;
      if (capsule === undefined || this.#runningCapsules.has(capsule) || isYoung) continue;
      if (atMs >= this.#request.beforeMs) continue;
      const places = this.#own(`${base}${capsulesFolder}`, name);
      if (places.length > 0) found.push({ kind: 'capsule', name, places, bytes: await this.#bytes(places), atMs });
    }
    return found;
  }

  /** Each use of a server writes its folder anew: sessions that stay and began before its last use may need it. */
  async #servers(ended: readonly Ended[], going: readonly Prunable[]): Promise<readonly Prunable[]> {
    const { root, home, beforeMs, nowMs } = this.#request;
    if (root !== adhocRoot(home) || this.#records.length > 0) return [];
    const gone = new Set(going.map(({ name }) => name));
    const stays = ended.filter(({ facts }) => !gone.has(facts.session_id)).map(({ atMs }) => atMs);
    const neededMs = Math.min(beforeMs, nowMs - startMs, ...stays);
    return await this.#in(serversFolder, async (servers) => {
      const found: Prunable[] = [];
      for (const name of readdirSync(servers.path).filter((each) => /^[0-9a-f]{32}$/.test(each))) {
        const atMs = writtenAt(servers, name);
        const places = atMs < neededMs ? this.#own(serversFolder, name) : [];
        if (places.length > 0) found.push({ kind: 'server', name, places, bytes: await this.#bytes(places), atMs });
      }
      return found;
    });
  }

  /** Processes that components run in read from it while they start, and installed servers run from it. */
  async #allCaches(): Promise<readonly Prunable[]> {
    if (this.#running.size > 0) {
      this.#request.onProblem(
        new Diagnostic('W-RUN-127', `${cacheFolder} stays: ${this.#running.size} sessions of this user run`, {
          hint: 'svc ps lists them; prune the cache once they have ended',
        }),
      );
      return [];
    }
    const found: Prunable[] = [];
    for (const folder of [cacheFolder, ...serverCaches.map((name) => `${cacheFolder}/${name}`)]) {
      found.push(...(await this.#in(folder, (held) => this.#caches(held, folder))));
    }
    return found;
  }

  async #caches(cache: HeldDirectory, folder: string): Promise<readonly Prunable[]> {
    const found: Prunable[] = [];
    for (const name of readdirSync(cache.path).filter((each) => !isAside(each) && !serverCaches.includes(each))) {
      const atMs = writtenAt(cache, name);
      if (atMs >= this.#request.beforeMs) continue;
      const places = [{ folder, name }];
      found.push({ kind: 'cache', name, places, bytes: await treeBytes(cache, name), atMs });
    }
    return found;
  }

  /** Whether no session that runs works in it, below it or above it: any may have been given it with `--workdir`. */
  #isWorkdirFree(id: string, base: string): boolean {
    const { root, home } = this.#request;
    const folder = base === '' ? root : join(home, base.slice(2));
    const real = unlessRefused(() => realpathSync(join(folder, workdirFolder, id)), null);
    return real === null || !this.#records.some(({ workdir }) => isBeneath(workdir, real) || isBeneath(real, workdir));
  }

  /** The place where a folder or a file of this user stands there; none for a link, and for what is somebody else's. */
  #own(folder: string, name: string): readonly Place[] {
    const held = this.#unlessProblem(() => openPlace(this.#request, folder));
    if (held === null) return [];
    try {
      return ownEntry(held, name) ? [{ folder, name }] : [];
    } finally {
      held.close();
    }
  }

  async #bytes(places: readonly Place[]): Promise<number> {
    let bytes = 0;
    for (const { folder, name } of places) {
      const held = openPlace(this.#request, folder);
      if (held === null) continue;
      try {
        bytes += await treeBytes(held, name);
      } finally {
        held.close();
      }
    }
    return bytes;
  }

  #unlessProblem<Value>(look: () => Value): Value | null {
    try {
      return look();
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      this.#request.onProblem(error);
      return null;
    }
  }
}
