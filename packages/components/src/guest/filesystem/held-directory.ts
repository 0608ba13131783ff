/** What stands behind a name, the name itself not being followed. */
export type Child =
  | { readonly kind: 'directory'; readonly directory: HeldDirectory }
  | { readonly kind: 'link' }
  | { readonly kind: 'other' };

export interface FileAccess {
  readonly read: boolean;
  readonly write: boolean;
  readonly create: boolean;
  readonly exclusive: boolean;
  readonly truncate: boolean;
}

/**
 * A directory that a component stands in while a path is walked. Names have no separator and are never `.` or `..`.
 * Refusals of the operating system are thrown as they are.
 */
export interface HeldDirectory {
  /** A directory behind the name is then held too; whoever entered it closes it. */
  enter(name: string): Child;
  /** The same directory, held once more. */
  again(): HeldDirectory;
  /** A host path for one operation that does not itself follow the last part. */
  entry(name: string): string;
  /** A host path of the directory itself. */
  self(): string;
  /** Opens a regular file and nothing else: neither links nor devices nor pipes. Returns the descriptor. */
  openFile(name: string, access: FileAccess): number;
  close(): void;
}
