/** The names that a manifest may give, and those that `svc` has taken, without the schemas of them. */

const reservedVersions: ReadonlySet<string> = new Set(['latest', 'stable', 'edge']);

/** Tools of the runtime itself, whose names no artifact takes. */
export const runtimeTools = ['delegate-task', 'share-file', 'fetch-peer-file', 'submit-plan'] as const;

/** Commands whose one argument is a line of a shell. */
export const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ash', 'ksh']);

/** What `auth` of an MCP server on the web says that is shown a token of this user's login there. */
export const ofLogin = 'login';

/** Drivers inside the package; the manifest may name one without an entry in `artifacts`. */
export const bundledDrivers = ['svc-driver-openai', 'svc-driver-anthropic', 'svc-driver-script'] as const;

export function isBundledDriver(name: string): name is (typeof bundledDrivers)[number] {
  return (bundledDrivers as readonly string[]).includes(name);
}

/** The hook inside the package that compacts conversations. */
export const bundledCompaction = 'svc-hook-compact';

/** The version of everything that comes inside the package. */
export const bundledVersion = '1.0.0';

/** The most characters of a name, and of a version. */
export const maxName = 100;

/** `[a-z0-9-]`, no hyphen at an edge, at most 100 characters (docs/protocol.md "The registry"). */
export const artifactNamePattern = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** The characters of a version; it also holds no `..`. */
export const artifactVersionPattern = /^[0-9A-Za-z][0-9A-Za-z.+-]*$/;

export function isArtifactName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxName && artifactNamePattern.test(value);
}

/** D3 "publish" as docs/protocol.md "The registry" reads it; the reserved names pass. */
export function isArtifactVersion(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length <= maxName && artifactVersionPattern.test(value) && !value.includes('..')
  );
}

/** A version that names one artifact: the reserved names resolve to nothing (D1 "Versioning" 2). */
export function isExactVersion(value: unknown): value is string {
  return isArtifactVersion(value) && !isReservedVersion(value);
}

/** One of the names that D1 "Versioning" 2 keeps from versions. */
export function isReservedVersion(version: string): boolean {
  return reservedVersions.has(version);
}

/** A name of an artifact made of what a file or a folder is called; null where nothing of it fits. */
export function fittedName(given: string): string | null {
  const fitted = given
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, maxName)
    .replaceAll(/^-+|-+$/g, '');
  return fitted === '' ? null : fitted;
}
