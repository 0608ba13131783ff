/** Describes what a program opens and starts by itself, as data. */

/**
 * A path in which `*` stands for any part of one name. `{prefix}` is the directory above the one that the program lies
 * in, `{modules}` the `node_modules` that it lies beneath. Each of a program's names gives such a directory.
 */
export type PathPattern = string;

/**
 * What a program opens by itself once it runs, as data. What is not there is left out. A directory is granted whole when
 * all beneath it belongs to the program and is the same for everyone; otherwise single files are named.
 */
export interface Profile {
  /** Base names that it is for: of the program, of a link to it, of a script's interpreter. */
  readonly programs?: RegExp;
  /** Base names of libraries: it is for every program that loads one of them when it starts. */
  readonly loading?: RegExp;
  /** A file by which `{prefix}` is known as a home of this program alone: without it, a name of the program gives no `{prefix}`. */
  readonly home?: PathPattern;
  readonly read?: readonly PathPattern[];
  /** The same, by where the script lies that it runs because the script's first line says so. */
  readonly readOfScript?: readonly PathPattern[];
  /** The directories that hold these files are read, whole. */
  readonly readAround?: readonly PathPattern[];
  /** Programs, or directories of programs, that it starts itself. Each comes with its loader and libraries. */
  readonly execute?: readonly PathPattern[];
  /** Libraries that it opens while running. Each comes with its own libraries. */
  readonly plugins?: readonly PathPattern[];
  /** Libraries that it opens before those, which find them by their names. */
  readonly pluginsFirst?: readonly PathPattern[];
  /** Commands that it starts itself, by name or absolute path. Each comes with its own profile. */
  readonly needs?: readonly string[];
  /** It is for a shell script, and what it needs is all that the script starts. */
  readonly ofScript?: true;
}
