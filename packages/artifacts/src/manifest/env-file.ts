/** Reads the variables of the environment and of `.env`. */

import { parseEnv } from 'node:util';

import { readTextBeneathIfThere } from '@svc/kit/files/read-beneath.ts';
import type { Environment } from '@svc/kit/environment.ts';

interface EnvironmentRequest {
  /** The workspace root: the directory of the manifest. No directory above it is looked at. */
  readonly directory: string;
  /** The environment the program was started with; its variables win over the file's. */
  readonly process: Environment;
  /** False under `--no-env-file`. */
  readonly useFile: boolean;
}

/**
 * The variables a manifest's references are resolved from: the process environment, and below it the `.env` of the workspace
 * root unless it is turned off (D1 "Authentication" 2). Changes neither. A file that cannot be read is `E-IO-001`.
 */
export function loadEnvironment({ directory, process, useFile }: EnvironmentRequest): Environment {
  const inherited = Object.entries(process).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...(useFile ? readEnvFile(directory) : []), ...inherited]);
}

function readEnvFile(directory: string): [string, string | undefined][] {
  const text = readTextBeneathIfThere(directory, '.env');
  return text === null ? [] : Object.entries(parseEnv(withoutMark(text)));
}

/** Editors of other systems put a byte order mark first, which would become part of the first name. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
