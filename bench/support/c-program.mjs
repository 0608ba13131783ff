// @ts-check
// Compiles the programs and libraries that are written in C.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** @type {Map<string, Promise<string>>} */
const compiled = new Map();

/**
 * A program written in C in this folder, compiled once, in a folder that lives as long as this process. Its path.
 * @param {string} name Of the source, without `.c`.
 * @param {readonly string[]} [flags]
 * @returns {Promise<string>}
 */
export function cProgram(name, flags = []) {
  const known = compiled.get(name) ?? compile(name, flags);
  compiled.set(name, known);
  return known;
}

/**
 * @param {string} name
 * @param {readonly string[]} flags
 */
async function compile(name, flags) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, name);
  const source = fileURLToPath(new URL(`${name}.c`, import.meta.url));
  try {
    await promisify(execFile)('cc', [
      '-std=c11',
      '-O2',
      '-Wall',
      '-Wextra',
      '-Werror',
      ...flags,
      '-o',
      program,
      source,
    ]);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error('there is no C compiler (cc) to build the client with', { cause: error });
    }
    throw error;
  }
  return program;
}
