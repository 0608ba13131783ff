/** Makes archives of skills, and a registry that has them. */

import { createHash } from 'node:crypto';

import { manifestText, archiveBytes } from '../../packages/artifacts/test/store/artifacts.ts';
import { ask, type RawResponse } from '../../packages/kit/test/http/raw-client.ts';
import { key, RegistryKit } from '../../packages/registry/test/registry-kit.ts';
import { startRegistry } from '../../packages/registry/test/registry-process.ts';

export interface Published {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** A skill: it runs nowhere, so that its text can be anything. */
export async function skillArchive(name: string, version: string, text = `Be ${name} ${version}.`): Promise<Published> {
  const bytes = await archiveBytes([
    { name: 'svc.yaml', data: Buffer.from(manifestText({ name, version: JSON.stringify(version), runtime: 'skill' })) },
    { name: 'skill.md', data: Buffer.from(text) },
  ]);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** A registry, and what tests put into it. */
export class SkillRegistry {
  readonly port: number;

  constructor(port: number) {
    this.port = port;
  }

  /** Starts a registry that is `svc-registry`, for tests of the program too. */
  static async start(data: string): Promise<SkillRegistry> {
    const { port } = await startRegistry(data);
    return new SkillRegistry(port);
  }

  /** Opens a registry that this process serves, for tests of its clients. */
  static async open(data?: string): Promise<SkillRegistry> {
    const { port } = await RegistryKit.open(data === undefined ? {} : { data });
    return new SkillRegistry(port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What `svc` finds it by. */
  get env(): Readonly<Record<string, string>> {
    return { SVC_REGISTRY_URL: this.url, REGISTRY_API_KEY: key };
  }

  async ask(line: string, body?: Buffer): Promise<RawResponse> {
    const headers = [`Authorization: Bearer ${key}`];
    return await ask(this.port, `${line} HTTP/1.1`, body === undefined ? { headers } : { headers, body });
  }

  async publish(name: string, version: string, query = ''): Promise<Published> {
    const published = await skillArchive(name, version);
    const asked = `name=${name}&version=${encodeURIComponent(version)}&runtime=static${query}`;
    await this.#done(201, `POST /v1/artifacts?${asked}`, published.bytes);
    return published;
  }

  async state(ref: `${string}@${string}`, state: string, reason?: string): Promise<void> {
    const body = Buffer.from(JSON.stringify(reason === undefined ? { state } : { state, reason }));
    await this.#done(200, `PUT /v1/artifacts/${ref.replace('@', '/')}/state`, body);
  }

  async #done(wanted: number, line: string, body: Buffer): Promise<void> {
    const { status, body: said } = await this.ask(line, body);
    if (status !== wanted) throw new Error(`${line} answered ${status}: ${said}`);
  }
}
