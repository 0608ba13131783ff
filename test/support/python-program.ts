/** Runs programs of Python with packages of their own. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { onTestFinished, type TestContext } from 'vitest';

const run = promisify(execFile);

/** The path of a Python with the packages, for one test, which is skipped where they cannot be had. */
export async function installedPython(context: TestContext, ...packages: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-python-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const python = join(folder, 'bin', 'python');
  try {
    await run('python3', ['-m', 'venv', folder]);
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]);
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? error).trim();
    context.skip(`needs python3 with ${packages.join(' and ')}: ${said.split('\n').at(-1)}`);
  }
  return python;
}

/** The same. The function runs a file with it, and answers what it prints. */
export async function pythonWith(
  context: TestContext,
  ...packages: readonly string[]
): Promise<(file: string, ...args: readonly string[]) => Promise<string>> {
  const python = await installedPython(context, ...packages);
  return async (file, ...args) => (await run(python, [file, ...args])).stdout;
}
