/** Gives components the files and directories below those that they were granted (`wasi:filesystem/types`). */

import {
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  futimesSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  type BigIntStats,
} from 'node:fs';

import type { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import type { WaitingRoom } from '../io.ts';
import { HostObject } from '../retained.ts';
import { InputStream, OutputStream, transferBytes } from '../streams.ts';
import { type Change, type DecidedChanges, type Permit, untilNextCall } from './decided-changes.ts';
import { type DescriptorBudget, DirectoryEntryStream } from './directory-entry-stream.ts';
import { attempt, refuse } from './error-code.ts';
import {
  descriptorStat,
  type DescriptorStat,
  type DescriptorType,
  metadataHash,
  newTime,
  type NewTimestamp,
} from './file-stat.ts';
import { childAt, type LastLink, locate, type Located, placeOf } from './locate.ts';
import type { Mask } from './mask.ts';
import {
  type DescriptorFlags,
  type FileAccess,
  fileAccess,
  OpenFile,
  type OpenFlags,
  openRegularFile,
} from './open-file.ts';

interface PathFlags {
  readonly symlinkFollow?: boolean;
}

/** What all descriptors that come from one preopened directory share. */
interface Mount {
  readonly writable: boolean;
  readonly budget: DescriptorBudget;
  readonly room: WaitingRoom;
  /** Is null if nothing is masked. */
  readonly mask?: Mask | null;
  /** Is null if all may be changed that the directories allow. */
  readonly changes?: DecidedChanges | null;
  /** Called for each operation that is refused for its path, or since nothing may be written; the path is that of the operation. */
  readonly onRefused?: (path: string, code: string) => void;
}

type Held =
  | { readonly kind: 'directory'; readonly directory: HeldDirectory }
  | { readonly kind: 'file'; readonly file: OpenFile; readonly read: boolean; readonly write: boolean };

const maxTransfer = BigInt(transferBytes);

/**
 * `wasi:filesystem/types#descriptor`. A path never leads above the directory it starts from; nothing is written through a
 * mount that is read-only; a rename stays within one mount; a link that is made leads down from where it stands, so that no
 * later rename turns it outward; hard links are not made. Where changes are decided, each is, at the place where it happens.
 */
export class Descriptor extends HostObject {
  readonly #mount: Mount;
  readonly #held: Held;

  constructor(mount: Mount, held: Held) {
    mount.budget.take();
    super();
    this.#mount = mount;
    this.#held = held;
  }

  readViaStream(offset: bigint): InputStream {
    const file = this.#readable();
    return new InputStream(file.source(offset, this.#countStream()), this.#mount.room);
  }

  writeViaStream(offset: bigint): OutputStream {
    const file = this.#writable();
    return new OutputStream(file.sink(offset, this.#countStream()), this.#mount.room);
  }

  appendViaStream(): OutputStream {
    const file = this.#writable();
    return new OutputStream(file.sink(null, this.#countStream()), this.#mount.room);
  }

  #countStream(): () => void {
    const { budget } = this.#mount;
    budget.take();
    return () => budget.give();
  }

  advise(): void {}

  syncData(): void {
    const held = this.#held;
    if (held.kind === 'file') attempt(() => fdatasyncSync(held.file.descriptor));
  }

  sync(): void {
    const held = this.#held;
    if (held.kind === 'file') attempt(() => fsyncSync(held.file.descriptor));
  }

  getFlags(): DescriptorFlags {
    if (this.#held.kind === 'file') return { read: this.#held.read, write: this.#held.write };
    return { read: true, mutateDirectory: this.#mount.writable };
  }

  getType(): DescriptorType {
    return this.#held.kind === 'file' ? 'regular-file' : 'directory';
  }

  setSize(size: bigint): void {
    if (size > BigInt(Number.MAX_SAFE_INTEGER)) refuse('file-too-large');
    const file = this.#writable();
    attempt(() => ftruncateSync(file.descriptor, Number(size)));
  }

  setTimes(access: NewTimestamp, modification: NewTimestamp): void {
    if (this.#areDecided) this.#writable();
    const times = this.#newTimes(() => this.#stat(), access, modification);
    const held = this.#held;
    if (held.kind === 'file') attempt(() => futimesSync(held.file.descriptor, ...times));
    else attempt(() => utimesSync(held.directory.path, ...times));
  }

  read(length: bigint, offset: bigint): [Uint8Array, boolean] {
    const size = Number(length > maxTransfer ? maxTransfer : length);
    const bytes = this.#readable().read(size, offset);
    return [bytes, bytes.length === 0 && size > 0];
  }

  write(bytes: Uint8Array, offset: bigint): bigint {
    return BigInt(this.#writable().write(bytes, offset));
  }

  readDirectory(): DirectoryEntryStream {
    const directory = this.#directory();
    return attempt(() => new DirectoryEntryStream(directory.path, this.#mount.budget));
  }

  createDirectoryAt(path: string): void {
    this.#make(path, 'directory', (place) => mkdirSync(place));
  }

  stat(): DescriptorStat {
    return descriptorStat(this.#stat());
  }

  statAt(flags: PathFlags, path: string): DescriptorStat {
    return descriptorStat(this.#statAt(flags, path));
  }

  setTimesAt(flags: PathFlags, path: string, access: NewTimestamp, modification: NewTimestamp): void {
    this.#mustWrite(path);
    this.#decided('write', (permit) =>
      this.#at(path, lastLink(flags), (located) => {
        const place = placeOf(located);
        const times = this.#newTimes(() => lstatSync(place, { bigint: true }), access, modification);
        permit(located);
        lutimesSync(place, ...times);
      }),
    );
  }

  linkAt(): void {
    refuse('not-permitted');
  }

  openAt(pathFlags: PathFlags, path: string, open: OpenFlags, wanted: DescriptorFlags): Descriptor {
    const changes = wanted.write === true || open.create === true || open.truncate === true;
    if (changes || wanted.mutateDirectory === true) this.#mustWrite(path);
    return this.#decided('write', (permit) =>
      this.#at(path, lastLink(pathFlags), (located) => {
        const child = childAt(located);
        switch (child?.kind) {
          case 'directory':
            return this.#openDirectory(child.directory, changes || open.exclusive === true);
          case 'link':
            return refuse('loop');
          default:
            if (open.directory === true || located.asDirectory) refuse(child === null ? 'no-entry' : 'not-directory');
            if (child === null && open.create !== true) refuse('no-entry');
            if (changes) permit(located);
            return this.#openFile(located, fileAccess(open, wanted));
        }
      }),
    );
  }

  #openDirectory(directory: HeldDirectory, asFile: boolean): Descriptor {
    try {
      if (asFile) refuse('is-directory');
      this.#mount.mask?.checkDirectory(directory);
      return new Descriptor(this.#mount, { kind: 'directory', directory });
    } catch (error) {
      directory.close();
      throw error;
    }
  }

  #openFile({ directory, name }: Located, access: FileAccess): Descriptor {
    const mayWrite = this.#areDecided ? untilNextCall() : undefined;
    const file = new OpenFile(openRegularFile(directory, name ?? refuse('is-directory'), access), mayWrite);
    try {
      this.#mount.mask?.checkFile(file.descriptor);
      return new Descriptor(this.#mount, { kind: 'file', file, read: access.read, write: access.write });
    } catch (error) {
      file.release();
      throw error;
    }
  }

  readlinkAt(path: string): string {
    return this.#at(path, 'never', (located) => {
      const target = readlinkSync(placeOf(located));
      return target.startsWith('/') ? refuse('not-permitted') : target;
    });
  }

  removeDirectoryAt(path: string): void {
    this.#replace(path, 'directory', (place) => rmdirSync(place));
  }

  renameAt(oldPath: string, target: Descriptor, newPath: string): void {
    this.#mustWrite(oldPath);
    if (target.#mount !== this.#mount) refuse('cross-device');
    this.#decided('rename', (permit) =>
      this.#changed(oldPath, (from, source) =>
        target.#changed(newPath, (to, goal) => {
          lstatSync(from);
          permit(source, goal);
          renameSync(from, to);
        }),
      ),
    );
  }

  symlinkAt(target: string, path: string): void {
    const parts = target.split('/');
    if (target === '' || target.includes('\0')) refuse('invalid');
    if (parts[0] === '' || parts.includes('..')) refuse('not-permitted');
    this.#make(path, 'link', (place) => symlinkSync(target, place));
  }

  unlinkFileAt(path: string): void {
    this.#replace(path, 'remove', (place) => unlinkSync(place));
  }

  isSameObject(other: Descriptor): boolean {
    const [mine, theirs] = [this.#stat(), other.#stat()];
    return mine.dev === theirs.dev && mine.ino === theirs.ino;
  }

  metadataHash(): ReturnType<typeof metadataHash> {
    return metadataHash(this.#stat());
  }

  metadataHashAt(flags: PathFlags, path: string): ReturnType<typeof metadataHash> {
    return metadataHash(this.#statAt(flags, path));
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    if (this.#held.kind === 'file') this.#held.file.release();
    else this.#held.directory.close();
    this.#mount.budget.give();
  }

  #stat(): BigIntStats {
    const held = this.#held;
    return attempt(() =>
      held.kind === 'file'
        ? fstatSync(held.file.descriptor, { bigint: true })
        : lstatSync(held.directory.path, { bigint: true }),
    );
  }

  #statAt(flags: PathFlags, path: string): BigIntStats {
    return this.#at(path, lastLink(flags), (located) => {
      const stat = lstatSync(placeOf(located), { bigint: true });
      return located.asDirectory && !stat.isDirectory() ? refuse('not-directory') : stat;
    });
  }

  #newTimes(stat: () => BigIntStats, access: NewTimestamp, modification: NewTimestamp): [number, number] {
    this.#mustWrite();
    const nowMs = Date.now();
    const { atimeNs, mtimeNs } = stat();
    return [newTime(access, atimeNs, nowMs), newTime(modification, mtimeNs, nowMs)];
  }

  #at<Result>(path: string, lastLink: LastLink, use: (located: Located) => Result): Result {
    const directory = this.#directory();
    const { mask = null } = this.#mount;
    try {
      return attempt(() => locate(directory, path, { lastLink, mask, use }));
    } catch (error) {
      if (error === 'not-permitted' || error === 'access') this.#mount.onRefused?.(path, error);
      throw error;
    }
  }

  get #areDecided(): boolean {
    return (this.#mount.changes ?? null) !== null;
  }

  /** Runs what changes something, which calls its argument right before that. */
  #decided<Result>(operation: Change['operation'], change: (permit: Permit) => Result): Result {
    const { changes = null } = this.#mount;
    return changes === null ? change(() => {}) : changes.decided(operation, change);
  }

  /** One change of the entry a path names. The entry itself is meant, never what a link there leads to. */
  #change(path: string, use: (place: string, located: Located) => void): void {
    this.#mustWrite(path);
    this.#at(path, 'never', (located) => {
      use(located.directory.entry(located.name ?? refuse('invalid')), located);
    });
  }

  #make(path: string, operation: Change['operation'], use: (place: string) => void): void {
    this.#decided(operation, (permit) =>
      this.#change(path, (place, located) => {
        if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) refuse('exist');
        permit(located);
        use(place);
      }),
    );
  }

  #replace(path: string, operation: Change['operation'], use: (place: string) => void): void {
    this.#decided(operation, (permit) =>
      this.#changed(path, (place, located) => {
        lstatSync(place);
        permit(located);
        use(place);
      }),
    );
  }

  /** A change after which what was there may be gone, or elsewhere. */
  #changed(path: string, use: (place: string, located: Located) => void): void {
    this.#change(path, (place, located) => {
      this.#mount.mask?.checkChange(place);
      use(place, located);
    });
  }

  /** Without a path for an open descriptor, which was reported by its own path. */
  #mustWrite(path?: string): void {
    if (this.#mount.writable) return;
    if (path !== undefined) this.#mount.onRefused?.(path, 'read-only');
    refuse('read-only');
  }

  #directory(): HeldDirectory {
    return this.#held.kind === 'directory' ? this.#held.directory : refuse('not-directory');
  }

  #readable(): OpenFile {
    if (this.#held.kind === 'directory') return refuse('is-directory');
    return this.#held.read ? this.#held.file : refuse('bad-descriptor');
  }

  #writable(): OpenFile {
    if (this.#held.kind === 'directory') return refuse('is-directory');
    return this.#held.write && this.#held.file.mayWrite() ? this.#held.file : refuse('bad-descriptor');
  }
}

function lastLink({ symlinkFollow }: PathFlags): LastLink {
  return symlinkFollow === true ? 'follow' : 'keep';
}
