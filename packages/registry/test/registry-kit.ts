import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { errorCode } from '@svc/kit/diagnostics/system-reason.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { FileStore } from '../src/file-store.ts';
import { RegistryServer, type RegistryOptions } from '../src/registry-server.ts';
import { StagingArea } from '../src/staging.ts';
import { ask, type Asked, type RawResponse } from '../../kit/test/http/raw-client.ts';
import { archiveBytes, manifestText, temporaryDirectory, toolFiles } from '../../artifacts/test/store/artifacts.ts';

export const key = 'test-key-0123456789';
export const authorized = `Authorization: Bearer ${key}`;

/** A registry on a directory of its own and on a free port, and what it printed. Closed after the test. */
export class RegistryKit {
  readonly data: string;
  readonly faults: Diagnostic[] = [];
  readonly bugs: unknown[] = [];
  readonly answered: string[] = [];
  port = 0;
  /** As a start does. */
  sweepSignatures: () => Promise<void> = async () => {};

  private constructor(data: string) {
    this.data = data;
  }

  static async open(options: Partial<RegistryOptions> & { readonly data?: string } = {}): Promise<RegistryKit> {
    const kit = new RegistryKit(options.data ?? temporaryDirectory());
    const server = new RegistryServer({
      store: await FileStore.open(kit.data),
      staging: await StagingArea.open(kit.data),
      key: new Secret(key),
      maxBytes: 4 * 1024 * 1024,
      hostname: 'test',
      onAnswered: ({ method, status }) => kit.answered.push(`${method} ${status ?? '-'}`),
      onFault: (fault) => kit.faults.push(fault),
      onBug: (error) => kit.bugs.push(error),
      ...options,
    });
    onTestFinished(() => server.close(0));
    kit.sweepSignatures = async () => await server.sweepSignatures();
    const outcome = await server.open({ address: '127.0.0.1', port: 0 });
    if (outcome.kind !== 'bound') throw new Error(outcome.kind);
    kit.port = outcome.port;
    return kit;
  }

  /** One request with the key. */
  async ask(requestLine: string, { headers = [], body }: Asked = {}): Promise<RawResponse> {
    const all = [authorized, ...headers];
    return await ask(
      this.port,
      `${requestLine} HTTP/1.1`,
      body === undefined ? { headers: all } : { headers: all, body },
    );
  }

  /** `query` as it goes over the wire. */
  async publish(query: string, body: Buffer): Promise<RawResponse> {
    return await this.ask(`POST /v1/artifacts?${query}`, { headers: ['Content-Type: application/octet-stream'], body });
  }

  async index(): Promise<unknown> {
    const { status, body } = await this.ask('GET /v1/artifacts');
    if (status !== 200) throw new Error(`the index answered ${status}`);
    return JSON.parse(Buffer.from(body, 'latin1').toString('utf8'));
  }

  /** What lies in the store and in staging areas, as paths below the data directory. */
  get stored(): string[] {
    return readdirSync(join(this.data, 'objects'), { recursive: true, encoding: 'utf8' }).sort();
  }

  get staged(): string[] {
    for (;;) {
      try {
        const found = readdirSync(join(this.data, 'staging'), { recursive: true, encoding: 'utf8' });
        return found.filter((path) => path.includes('/'));
      } catch (error) {
        // A directory went away while it was listed.
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
  }
}

/** Status and `error` of an answer, in one line. */
export function refusal({ status, body }: RawResponse): string {
  return `${status} ${(JSON.parse(body) as { error: string }).error}`;
}

/** An archive of a tool; `content` makes the bytes differ. */
export async function toolArchive(name: string, version = '1.0.0', content = ''): Promise<Buffer> {
  return await archiveBytes(toolFiles(name, version, content));
}

/** An archive with this `svc.yaml` and a file beside it. */
export async function archiveWith(keys: Readonly<Record<string, string>>): Promise<Buffer> {
  return await archiveBytes([
    { name: 'svc.yaml', data: Buffer.from(manifestText(keys)) },
    { name: 'skill.md', data: Buffer.from('Be brief.\n') },
  ]);
}

/** An archive without a manifest. */
export async function bareArchive(content = 'text'): Promise<Buffer> {
  return await archiveBytes([{ name: 'notes.md', data: Buffer.from(content) }]);
}
