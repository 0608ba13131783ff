import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { portToName } from '../support/port-to-name.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';

const page = readFileSync(new URL('../../docs/telemetry.md', import.meta.url), 'utf8');
const [, configuration = ''] = /^```yaml file=collector.yaml\n([^]*?)^```$/m.exec(page) ?? [];
const exported = Object.fromEntries(
  [...page.matchAll(/^export (OTEL_\w+)=(.+)$/gm)].map(([, name = '', value = '']) => [name, value]),
);

const open: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function runCapsule(env: Readonly<Record<string, string>>): Promise<string> {
  const workspace = scriptCapsule();
  open.push(() => workspace.remove());
  const { code, stderr } = await svc(workspace, ['run', '--task', 'Write a haiku'], { env });
  expect([code, stderr]).toEqual([0, '']);
  return workspace.folder;
}

describe('docs/telemetry.md', () => {
  it('has a collector listen where svc sends', () => {
    const { receivers } = parse(configuration) as {
      readonly receivers: { readonly otlp: { readonly protocols: { readonly http: { readonly endpoint: string } } } };
    };
    expect(exported).toEqual({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://${receivers.otlp.protocols.http.endpoint}` });
  });

  it('has svc send what it shows, at another port', async () => {
    const receiver = await OtlpReceiver.start();
    open.push(() => receiver.close());
    await runCapsule({ ...exported, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    expect(receiver.spans.map(({ name }) => name)).toEqual(['chat scripted', 'invoke_agent demo']);
  });

  it('has a configuration with which a collector takes spans and measures of svc', async (context) => {
    const program = process.env['OTELCOL'] ?? 'otelcol';
    if (spawnSync(program, ['--version']).status !== 0)
      return context.skip('needs the OpenTelemetry Collector, otelcol');
    const port = await portToName();
    const workspace = scriptCapsule({ files: { 'collector.yaml': configuration.replace(':4318', `:${port}`) } });
    open.push(() => workspace.remove());
    const collector = spawn(program, ['--config', join(workspace.folder, 'collector.yaml')]);
    open.push(async () => {
      collector.kill('SIGTERM');
      if (collector.exitCode === null) await once(collector, 'exit');
    });
    let said = '';
    const hears = (pattern: RegExp): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => void (pattern.test(said) && resolve());
        collector.stderr.on('data', look);
        collector.once('exit', () => reject(new Error(said)));
        look();
      });
    for (const stream of [collector.stdout, collector.stderr]) {
      stream.on('data', (piece: Buffer) => {
        said += piece.toString();
      });
    }
    await hears(/Everything is ready/);
    for (const protocol of ['http/protobuf', 'http/json']) {
      await runCapsule({
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      });
    }
    await hears(/(?:invoke_agent demo[^]*){2}/);
    expect(said).toMatch(/gen_ai\.client\.inference\.duration/);
    expect(said).toMatch(/gen_ai\.request\.model: Str\(scripted\)/);
  }, 120_000);
});
