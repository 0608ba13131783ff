/** A file that was opened to be looked into, and the way to it. */

/** What stands at a path; a link is not followed. */
export interface FileEntry {
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  /** Some executable bit is set. */
  readonly executable: boolean;
}

/** A symbolic link that has to stand where it stands for a path to lead anywhere. */
export interface SymbolicLink {
  /** Without links in its directory. */
  readonly path: string;
  /** The text of the link. */
  readonly target: string;
}

/** A regular file, open for reading. The caller closes it. */
export interface OpenedFile {
  /** Changes whenever the file may have changed: device, inode, size and both times. */
  readonly identity: string;
  readonly size: number;
  /** Up to `length` bytes from `offset`; fewer at the end of the file or where it cannot be read. */
  read(offset: number, length: number): Buffer;
  close(): void;
}

/** How a path leads to what it names. */
export interface PathWalk {
  /** What the path names, without links. */
  readonly path: string;
  readonly kind: FileEntry['kind'];
  readonly executable: boolean;
  /** Every link on the way, in order. */
  readonly links: readonly SymbolicLink[];
  /** The names of the thing itself: each link that stood for it, then its own path. */
  readonly names: readonly string[];
}
