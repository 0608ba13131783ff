/** The schemas of the names in a manifest or in what a server is sent; `names.ts` says the same of a single value. */

import * as z from 'zod/mini';

import { parseArtifactPlace } from './artifact-place.ts';
import { artifactNamePattern, artifactVersionPattern, isReservedVersion, maxName } from './names.ts';
import { isVersionRange } from './version-range.ts';

export const artifactName: z.ZodMiniType<string, string> = z
  .string()
  .check(z.maxLength(maxName), z.regex(artifactNamePattern, 'must be lowercase letters, digits and inner hyphens'));

/** A version that names one artifact: the reserved names resolve to nothing (D1 "Versioning" 2). */
export const exactVersion: z.ZodMiniType<string, string> = z.string().check(
  z.maxLength(maxName),
  z.regex(artifactVersionPattern, 'must be letters, digits, dots, plus signs and hyphens'),
  z.refine((version) => !version.includes('..'), 'must not contain ".."'),
  z.refine((version) => !isReservedVersion(version), 'is a reserved version, name an exact one'),
);

/** Which versions `svc update` may choose from. */
export const versionRange: z.ZodMiniType<string, string> = z
  .string()
  .check(z.refine(isVersionRange, 'must be a range of versions, such as ^1.2.0, ">=1.2.0 <2.0.0" or 1.x'));

/** Where an artifact comes from that is not in the registry in use. */
export const artifactPlace: z.ZodMiniType<string, string> = z
  .string()
  .check(
    z.refine(
      (text) => parseArtifactPlace(text) !== null,
      'must be github:<owner>/<repo>@<tag>, github:<owner>/<repo>@<tag>#<folder> of a skill, oci://<host>/<repository>, or mcp+https://<host>/<path> of an MCP server',
    ),
  );

export const variableName: z.ZodMiniType<string, string> = z
  .string()
  .check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name'));

/** What svc sets itself, what decides which code a program loads, and what nobody is given. */
const keptName = /^(?:PATH|HOME|TMPDIR|SVC_.*|LD_.*|OTEL_.*)$/;
const maxValue = 32 * 1024;
const maxVariables = 64;

/** The name of a variable that a manifest sets for a program. */
export const programVariable: z.ZodMiniType<string, string> = z.string().check(
  z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be a variable name'),
  z.refine((name) => !keptName.test(name), 'must not be PATH, HOME, TMPDIR or begin with SVC_, LD_ or OTEL_'),
);

/** Variables that a manifest sets for a program. */
export const programVariables: z.ZodMiniType<Record<string, string>, Record<string, string>> = z
  .record(
    programVariable,
    z.string().check(
      z.maxLength(maxValue),
      z.refine((value) => !value.includes('\0'), 'must not contain a null character'),
    ),
  )
  .check(z.refine((set) => Object.keys(set).length <= maxVariables, `must set at most ${maxVariables} variables`));

/** A program found on `PATH`: no slash, no white space. */
export const commandName: z.ZodMiniType<string, string> = z.string().check(
  z.regex(/^[^/\s\0]+$/, 'must be a bare command name'),
  z.refine((name) => name !== '.' && name !== '..' && !name.startsWith('-'), 'must be a bare command name'),
);
