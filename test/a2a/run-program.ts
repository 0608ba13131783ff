import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Runs a program of a page of the manual with the packages that are installed here. It lies apart from the sources, which other tests read meanwhile. */
export async function runProgram(program: string, ...args: readonly string[]): Promise<{ readonly stdout: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-program-'));
  try {
    symlinkSync(packages, join(folder, 'node_modules'));
    const file = join(folder, 'program.mjs');
    writeFileSync(file, program);
    return await promisify(execFile)(process.execPath, [file, ...args]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
