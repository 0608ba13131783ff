/** The names that a manifest may give, and those that `svc` has taken. */

import * as z from 'zod/mini';

const reservedVersions: ReadonlySet<string> = new Set(['latest', 'stable', 'edge']);

/** Tools of the runtime itself, whose names no artifact takes. */
export const runtimeTools = ['delegate-task', 'share-file', 'fetch-peer-file', 'submit-plan'] as const;

/** Drivers inside the package; the manifest may name one without an entry in `artifacts`. */
export const bundledDrivers = ['svc-driver-openai', 'svc-driver-anthropic', 'svc-driver-script'] as const;

/** The hook inside the package that compacts conversations. */
export const bundledCompaction = 'svc-hook-compact';

/** The version of everything that comes inside the package. */
export const bundledVersion = '1.0.0';

/** `[a-z0-9-]`, no hyphen at an edge, at most 100 characters (docs/protocol.md "The registry"). */
export const artifactName: z.ZodMiniType<string, string> = z
  .string()
  .check(
    z.maxLength(100),
    z.regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'must be lowercase letters, digits and inner hyphens'),
  );

/** D3 "publish" as docs/protocol.md "The registry" reads it; the reserved names pass. */
export const artifactVersion: z.ZodMiniType<string, string> = z.string().check(
  z.maxLength(100),
  z.regex(/^[0-9A-Za-z][0-9A-Za-z.+-]*$/, 'must be letters, digits, dots, plus signs and hyphens'),
  z.refine((version) => !version.includes('..'), 'must not contain ".."'),
);

/** A version that names one artifact: the reserved names resolve to nothing (D1 "Versioning" 2). */
export const exactVersion: z.ZodMiniType<string, string> = artifactVersion.check(
  z.refine((version) => !reservedVersions.has(version), 'is a reserved version, name an exact one'),
);

export const variableName: z.ZodMiniType<string, string> = z
  .string()
  .check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name'));

/** A program found on `PATH`: no slash, no white space. */
export const commandName: z.ZodMiniType<string, string> = z.string().check(
  z.regex(/^[^/\s\0]+$/, 'must be a bare command name'),
  z.refine((name) => name !== '.' && name !== '..' && !name.startsWith('-'), 'must be a bare command name'),
);
