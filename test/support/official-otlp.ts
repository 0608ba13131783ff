/** Loads the official encoders of OpenTelemetry to compare with. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('../fixtures/opentelemetry/', import.meta.url));

/** What writes one kind of request. */
interface Serializer {
  serializeRequest(records: unknown): Uint8Array;
}

/** The official encoders, and what makes the resources that they are given. */
export interface OfficialOtlp {
  readonly json: { readonly traces: Serializer; readonly logs: Serializer; readonly metrics: Serializer };
  readonly protobuf: { readonly traces: Serializer; readonly logs: Serializer; readonly metrics: Serializer };
  readonly resource: (attributes: Readonly<Record<string, unknown>>) => unknown;
}

/** Installs them, in the versions that `test/fixtures/opentelemetry` names, where they are not there yet. A text says why they cannot be had. */
export async function officialOtlp(): Promise<OfficialOtlp | string> {
  try {
    if (!isInstalled()) {
      // They ask for a newer Node than what of them is called here.
      const options = ['--ignore-scripts', '--engine-strict=false', '--no-audit', '--no-fund'];
      await promisify(execFile)('npm', ['ci', '--prefix', folder, ...options]);
    }
  } catch (error) {
    return `the official encoders cannot be installed: ${error instanceof Error ? error.message : String(error)}`;
  }
  const transformer = await load('otlp-transformer');
  const { resourceFromAttributes } = await load('resources');
  const of = (encoding: string): OfficialOtlp['json'] => ({
    traces: transformer[`${encoding}TraceSerializer`] as Serializer,
    logs: transformer[`${encoding}LogsSerializer`] as Serializer,
    metrics: transformer[`${encoding}MetricsSerializer`] as Serializer,
  });
  const resource = resourceFromAttributes as OfficialOtlp['resource'];
  return { json: of('Json'), protobuf: of('Protobuf'), resource };
}

function isInstalled(): boolean {
  const { dependencies } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  return Object.entries(dependencies).every(([name, version]) => {
    const file = `${folder}node_modules/${name}/package.json`;
    return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version === version;
  });
}

async function load(name: string): Promise<Readonly<Record<string, unknown>>> {
  const root = `${folder}node_modules/@opentelemetry/${name}/`;
  const { main = 'index.js' } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { readonly main?: string };
  return (await import(pathToFileURL(`${root}${main}`).href)) as Readonly<Record<string, unknown>>;
}
