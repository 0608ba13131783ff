/** Starts container registries of other projects. */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

import type { Workspace } from './workspace.ts';

/** A registry of another project that runs on a free port of this machine. */
export interface OciServer {
  /** With its port. */
  readonly host: string;
  stop(): void;
}

/** Debian's docker-registry, or a newer one of the same project; `auth` is a part of its configuration. */
export async function dockerRegistry(
  workspace: Workspace,
  { program = 'docker-registry', auth = '' }: { readonly program?: string; readonly auth?: string } = {},
): Promise<OciServer> {
  workspace.write(
    'registry.yml',
    `version: 0.1
log: { level: info, accesslog: { disabled: true } }
storage: { filesystem: { rootdirectory: ${join(workspace.home, 'registry')} } }
http: { addr: "127.0.0.1:0" }
${auth}`,
  );
  return await started(program, ['serve', join(workspace.folder, 'registry.yml')]);
}

/** A program that says on standard error where it listens. */
export async function started(program: string, args: readonly string[]): Promise<OciServer> {
  const server: ChildProcess = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, OTEL_TRACES_EXPORTER: 'none' },
  });
  const host = await new Promise<string>((resolve, reject) => {
    // It is read on to its end: a log that nobody takes would end the registry.
    let log = '';
    server.stderr?.on('data', (chunk: Buffer) => {
      log = `${log}${String(chunk)}`.slice(-10_000);
      const [, found] = /listening on (127\.0\.0\.1:\d+)/.exec(log) ?? [];
      if (found !== undefined) resolve(found);
    });
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`${program} ended with ${code}: ${log}`)));
  });
  return { host, stop: () => void server.kill('SIGKILL') };
}
