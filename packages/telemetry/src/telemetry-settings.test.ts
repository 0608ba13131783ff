import { describe, expect, it } from 'vitest';

import { readSettings } from './telemetry-settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

function told(env: Readonly<Record<string, string>>): readonly string[] {
  return readSettings({ ...endpoint, ...env }).problems.map(({ code, message }) => `${code} ${message}`);
}

describe('the settings of telemetry', () => {
  it('have their defaults where only an address is given', () => {
    const { settings, problems } = readSettings(endpoint);
    const usual = { headers: {}, timeoutMs: 10_000, encoding: 'protobuf' };
    expect([settings, problems]).toEqual([
      {
        signals: {
          traces: { url: new URL('http://127.0.0.1:4318/v1/traces'), ...usual },
          metrics: { url: new URL('http://127.0.0.1:4318/v1/metrics'), ...usual },
          logs: { url: new URL('http://127.0.0.1:4318/v1/logs'), ...usual },
        },
        serviceName: null,
        resource: new Map(),
        sampler: { ratio: 1, followsParent: true },
        maxQueued: 2048,
        maxInBatch: 512,
        delayMs: 1000,
        metricsEveryMs: 60_000,
        withContent: false,
        proxyFor: expect.any(Function),
      },
      [],
    ]);
  });

  it('for one signal go before those for all', () => {
    const { settings } = readSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example.com/tenant/',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces.example.com/in?x=1',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc,x-tenant=7',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-key=1',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: '250',
      OTEL_METRICS_EXPORTER: 'none',
    });
    expect(settings.signals).toEqual({
      traces: {
        url: new URL('http://traces.example.com/in?x=1'),
        headers: { 'x-key': '1' },
        timeoutMs: 10_000,
        encoding: 'json',
      },
      logs: {
        url: new URL('https://collector.example.com/tenant/v1/logs'),
        headers: { authorization: 'Bearer abc', 'x-tenant': '7' },
        timeoutMs: 250,
        encoding: 'protobuf',
      },
    });
  });

  it('send only the signal that has an address', () => {
    const { settings } = readSettings({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://127.0.0.1:1/logs' });
    expect(Object.keys(settings.signals)).toEqual(['logs']);
  });

  it('leave out the signals of a protocol that svc does not speak, and say so of each variable once', () => {
    const { settings, problems } = readSettings({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    expect(settings.signals).toEqual({});
    expect(problems.map(({ code }) => code)).toEqual(['W-OTL-001', 'W-OTL-001', 'W-OTL-001']);
  });

  it.each([
    ['always_off', undefined, { ratio: 0, followsParent: false }],
    ['parentbased_traceidratio', '0.25', { ratio: 0.25, followsParent: true }],
    ['traceidratio', undefined, { ratio: 1, followsParent: false }],
    ['parentbased_always_off', '1', { ratio: 0, followsParent: true }],
  ])('sample as %s with %s', (kind, arg, sampler) => {
    const env = { OTEL_TRACES_SAMPLER: kind, ...(arg === undefined ? {} : { OTEL_TRACES_SAMPLER_ARG: arg }) };
    expect(readSettings(env).settings.sampler).toEqual(sampler);
  });

  it.each([
    [
      { OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' },
      'OTEL_EXPORTER_OTLP_TIMEOUT must be a whole number from 1 to 600000; 10000 is taken',
    ],
    [
      { OTEL_BSP_MAX_QUEUE_SIZE: '0' },
      'OTEL_BSP_MAX_QUEUE_SIZE must be a whole number from 1 to 1000000; 2048 is taken',
    ],
    [
      { OTEL_TRACES_SAMPLER_ARG: '2', OTEL_TRACES_SAMPLER: 'traceidratio' },
      'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; all traces are sent',
    ],
    [{ SVC_TELEMETRY_CONTENT: 'yes' }, 'SVC_TELEMETRY_CONTENT must be 0 or 1; 0 is taken'],
    [
      { OTEL_RESOURCE_ATTRIBUTES: 'a=1,b' },
      'OTEL_RESOURCE_ATTRIBUTES has a part that is not name=value, which is left out',
    ],
    [
      { OTEL_RESOURCE_ATTRIBUTES: 'a=%E0%A4' },
      'OTEL_RESOURCE_ATTRIBUTES has a part that is not name=value, which is left out',
    ],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: 'x=a%0Ab' },
      'OTEL_EXPORTER_OTLP_HEADERS has a header that cannot be sent, which is left out',
    ],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: 'content-length=1' },
      'OTEL_EXPORTER_OTLP_HEADERS has a header that cannot be sent, which is left out',
    ],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: `x=${'k'.repeat(8192)}` },
      'OTEL_EXPORTER_OTLP_HEADERS is longer than 8192 characters, and is passed over',
    ],
  ])('take the usual value for %j, and say so', (env, message) => {
    expect(told(env as Readonly<Record<string, string>>)).toEqual([`W-OTL-002 ${message}`]);
  });

  it.each(['ftp://collector', 'collector:4318', 'http://user:key@collector', 'http://'])(
    'send nothing to %s',
    (address) => {
      const { settings, problems } = readSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: address });
      expect(settings.signals).toEqual({});
      expect(problems.map(({ message }) => message)).toEqual([
        'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an http or https address without a user; nothing is sent there',
      ]);
    },
  );

  it('send nothing through a proxy that cannot be used, and straight past one', () => {
    const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test' };
    const { settings, problems } = readSettings(collector, { HTTP_PROXY: 'socks5://k3y@proxy' });
    expect([settings.signals, problems.map(({ code, message }) => `${code} ${message}`)]).toEqual([
      {},
      ['W-OTL-002 HTTP_PROXY is no proxy that svc can use: nothing is sent'],
    ]);
    expect(told({ HTTP_PROXY: 'socks5://k3y@proxy' })).toEqual([]);
  });

  it('repeat no value that cannot be used: it may hold a key', () => {
    const key = 'k3y-of-somebody';
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://u:${key}@c`,
      OTEL_EXPORTER_OTLP_HEADERS: key,
      OTEL_EXPORTER_OTLP_PROTOCOL: key,
    };
    expect(told(env).join(' ')).not.toContain(key);
  });
});
