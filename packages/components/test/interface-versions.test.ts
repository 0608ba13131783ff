import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';

import { type ExternNames, externNames, interfaceNames, interfacesOf } from '../src/compiler/interface-names.ts';
import { interfacePackages, offeredInterface } from '../src/interface-versions.ts';
import { needsCompiler, offeredInterfaces, refusedImports, refusedVersions } from '../src/refused-interfaces.ts';
import { Mailbox } from '../src/guest/mailbox.ts';
import { offeredImports } from '../src/guest/offered-imports.ts';
import { sockets } from '../src/guest/sockets.ts';
import { OutputTail } from '../src/guest/streams.ts';
import { encodeUnsigned, MalformedWasm } from '../src/core-module.ts';
import { componentText, toolRunning } from './support/component-text.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, faultOf, noGrants, packageRoot, testHost, toolCall } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

vi.setConfig({ testTimeout: compileTimeoutMs });

const host = testHost(fixtureCache);
afterAll(async () => {
  await host.close();
});

const wit = join(packageRoot, 'packages/guest/wit');
const witText = readdirSync(wit, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.wit'))
  .map((file) => readFileSync(join(wit, file), 'utf8'))
  .join('\n');

/** The versions with which a text names each package: `svc:tool` to `0.1.0`, sorted. */
function versionsIn(text: string): Record<string, string> {
  const named = [...text.matchAll(/\b((?:svc|wasi):[a-z]+)(?:\/[a-z-]+)?@([0-9]+\.[0-9]+\.[0-9]+)/g)];
  const pairs = new Set(named.map(([, owner, version]) => `${owner} ${version}`));
  const versions = [...pairs].sort().map((pair) => pair.split(' ') as [string, string]);
  expect(new Set(versions.map(([owner]) => owner)).size).toBe(versions.length);
  return Object.fromEntries(versions);
}

describe('the versions of interfaces', () => {
  const newest = Object.fromEntries(Object.entries(interfacePackages).map(([owner, { newest }]) => [owner, newest]));

  it('match the guest, wherever its interfaces name one', () => {
    const { 'svc:worlds': worlds, ...packages } = versionsIn(witText);
    expect(packages).toEqual(newest);
    expect(worlds).toBe('0.1.0');
  });

  it('come with every interface of WASI 0.2.12, because linkers of other languages want whole packages', () => {
    const whole = ['cli', 'clocks', 'filesystem', 'http', 'io', 'random', 'sockets'].map((name) => {
      const text = readFileSync(join(wit, 'deps', `wasi-${name}`, `${name}.wit`), 'utf8').replaceAll(/\/\/.*/g, '');
      const named = [...text.matchAll(/^interface ([a-z-]+) \{/gm)].map(([, each = '']) => each);
      const functions = [...text.matchAll(/: (?:static )?func\b|\bconstructor\(/g)].length;
      return [name, functions, named.toSorted().join(' ')];
    });
    expect(whole).toEqual([
      [
        'cli',
        12,
        'environment exit run stderr stdin stdout terminal-input terminal-output terminal-stderr terminal-stdin terminal-stdout',
      ],
      ['clocks', 8, 'monotonic-clock timezone wall-clock'],
      ['filesystem', 30, 'preopens types'],
      ['http', 54, 'incoming-handler outgoing-handler types'],
      ['io', 19, 'error poll streams'],
      ['random', 5, 'insecure insecure-seed random'],
      ['sockets', 53, 'instance-network ip-name-lookup network tcp tcp-create-socket udp udp-create-socket'],
    ]);
  });

  it('match the imports of the library of the guest', () => {
    const library = join(packageRoot, 'packages/guest/src');
    const sources = readdirSync(library, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const named = versionsIn(sources.map((file) => readFileSync(join(library, file), 'utf8')).join('\n'));
    expect(newest).toMatchObject(named);
    expect(Object.keys(named).length).toBeGreaterThan(8);
  });

  it('match the list in docs/authoring.md', () => {
    const guide = readFileSync(join(packageRoot, 'docs/authoring.md'), 'utf8');
    const [, section = ''] = /\n## Versions of the interfaces\n([^]*?)\n## /.exec(guide) ?? [];
    const rows = [...section.matchAll(/^\| (`.*`) \| ([0-9.]+) \| ([0-9.]+) \|$/gm)];
    const listed = rows.flatMap(([, names = '', oldest, newest]) =>
      names.split(', ').map((name) => [name.replaceAll('`', ''), { newest, oldest }] as const),
    );
    const versions = Object.entries(interfacePackages).map(([owner, { newest, oldest }]) => [
      owner,
      { newest, oldest },
    ]);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(versions));
  });

  it('belong to interfaces that docs/authoring.md lists, each of them and no others', () => {
    const guide = readFileSync(join(packageRoot, 'docs/authoring.md'), 'utf8');
    const [, section = ''] = /\n## What a component can import\n([^]*?)\n## /.exec(guide) ?? [];
    const rows = [...section.matchAll(/^\| (`.*`) \| /gm)].map(([, names = '']) =>
      names.replaceAll('`', '').split(', '),
    );
    const listed = rows.flatMap((names) =>
      names.map((name) => {
        const [first = ''] = names;
        if (name.includes('/')) return name;
        return name.startsWith('-') ? first.replace(/-[a-z]+$/, name) : first.replace(/[^/]+$/, name);
      }),
    );
    const of03 = ['wasi:clocks/system-clock'];
    const types = ['svc:driver/types', 'svc:hook/types', 'wasi:clocks/types'];
    expect([...listed, ...of03, ...types].toSorted()).toEqual([...offeredInterfaces].toSorted());
  });

  it('belong to the names by which the host calls a component', () => {
    expect(offeredInterface('svc:tool/run')).toBe('svc:tool/run@0.1.0');
  });
});

function importing(imports: readonly string[]): ExternNames {
  return { imports, exports: [] };
}

describe('what a component is built for', () => {
  it.each([
    [['svc:tool/run@0.1.0', 'wasi:io/streams@0.2.12', 'wasi:io/poll@0.2.0', 'wasi:cli/exit@0.2.9']],
    [['wasi:http/types@0.2.13', 'wasi:io/error@0.2.100']],
    [['probe:it/answer@9.0.0', 'svc:secrets/all@0.1.0', 'local:it/that']],
    [[]],
  ])('passes when the host has it, or does not know it: %j', (names) => {
    expect(refusedVersions(importing(names))).toBeNull();
    expect(refusedVersions({ imports: [], exports: names })).toBeNull();
  });

  it.each([
    ['svc:tool/run@0.1.1', 'svc:tool 0.1.0'],
    ['svc:text/chunks@0.2.0', 'svc:text 0.1.0'],
    ['svc:hook/lifecycle@1.0.0', 'svc:hook 0.1.0'],
    ['svc:tool/run@9.0.0-rc1', 'svc:tool 0.1.0'],
    ['wasi:http/types@0.4.0', 'wasi:http 0.2.0 to 0.2.12'],
    ['wasi:http/types@0.10.0', 'wasi:http 0.2.0 to 0.2.12'],
  ])('fails when it is later than what the host has: %s', (name, has) => {
    expect(refusedVersions(importing(['svc:driver/types@0.1.0', name]))).toEqual({
      reason: `it is built for ${name}, and this svc has ${has}`,
      hint: 'update svc, or build it with the @svc/guest of a folder that svc new makes',
    });
  });

  it('fails when it is earlier than the earliest that the host takes', () => {
    expect(refusedVersions(importing(['wasi:io/streams@0.1.9']))).toEqual({
      reason: 'it is built for wasi:io/streams@0.1.9, and this svc has wasi:io 0.2.0 to 0.2.12',
      hint: 'build it again with the @svc/guest of a folder that svc new makes',
    });
  });
});

describe('a component of WASI 0.3', () => {
  it.each(['wasi:http/types@0.3.0', 'wasi:cli/stdout@0.3.1', 'wasi:clocks/types@0.3.0-rc-2026-03-15'])(
    'fails with one sentence where the host has nothing like it: %s',
    (name) => {
      expect(refusedVersions(importing(['wasi:random/random@0.3.0', name]))).toEqual({
        reason: `it is built for ${name}, and this svc has WASI 0.2`,
        hint: 'build it for WASI 0.2, which in Rust is the target wasm32-wasip2',
      });
    },
  );

  it('passes where the host has the same, once the compiler has looked for async functions', () => {
    const names = importing(['wasi:random/random@0.3.0', 'wasi:cli/environment@0.3.7', 'wasi:clocks/types@0.3.0']);
    expect(refusedVersions(names)).toBeNull();
    expect(needsCompiler(names)).toBe(true);
  });
});

describe('an interface that a component calls', () => {
  it('has its name in the list when the host gives it, or when it has types alone', () => {
    const output = new OutputTail();
    const given = offeredImports(new Mailbox(), { directories: [], env: {}, seed: [0n, 0n], output });
    const types = ['svc:driver/types', 'svc:hook/types', 'wasi:clocks/types'];
    expect([...offeredInterfaces].toSorted()).toEqual(
      [...Object.keys(given), ...Object.keys(sockets()), ...types].toSorted(),
    );
    expect(refusedImports([...offeredInterfaces])).toBeNull();
  });

  it('appears with its version where the host lacks it, and not at any length', () => {
    const names = ['wasi:keyvalue/store@0.2.0-draft2', 'wasi:io/poll@0.2.0', 'acme:it/that@1.0.0'];
    expect(refusedImports(['wasi:io/poll', 'wasi:keyvalue/store', 'acme:it/that'], names)).toEqual({
      reason: 'it imports wasi:keyvalue/store@0.2.0-draft2, acme:it/that@1.0.0, which this svc does not offer',
      hint: 'build it without that: docs/authoring.md "What a component can import" lists what there is',
    });
    const many = Array.from({ length: 1_000 }, (_, number) => `a:b/${'c'.repeat(1_000)}${number}`);
    expect(refusedImports(many)?.reason).toMatch(/ and 995 more, which this svc does not offer$/);
    expect(refusedImports(many)?.reason.length).toBeLessThan(1_200);
  });

  it.each([
    [true, ['wasi:keyvalue/store@0.2.0']],
    [true, ['print']],
    [false, ['wasi:sockets/tcp@0.2.0', 'svc:driver/types@0.1.0', 'wasi:cli/exit']],
  ])('needs the compiler only under a foreign name: %s for %j', (isOpen, names) => {
    expect(needsCompiler(importing(names))).toBe(isOpen);
  });
});

describe('the names of interfaces in a component', () => {
  it('cover its imports and exports, with their versions', async () => {
    const { wasm } = await fixtureComponent('probe-tool');
    const names = interfaceNames(wasm as Uint8Array);
    expect(names).toEqual(
      expect.arrayContaining(['svc:text/chunks@0.1.0', 'svc:task/task@0.1.0', 'svc:tool/run@0.1.0']),
    );
    expect(names.filter((name) => !/^(svc|wasi):[a-z]+\/[a-z-]+@0\.[0-9.]+$/.test(name))).toEqual([]);
  });

  it('come after imports of every kind too', async () => {
    const { wasm } = await componentText(`
      (import "a" (core module))
      (import "b" (func))
      (import "c" (component))
      (import "d" (type (sub resource)))
      (type $text string)
      (import "e" (type (eq $text)))
      (import "svc:one/two@1.2.3" (instance $two (export "t" (type (sub resource)))))
      (export "svc:three/four@4.5.6" (instance $two))
      (export "f" (type $text))
      (export "svc:five/six@7.8.9" (instance $two))
      (import "svc:seven/eight@0.0.1" (instance))`);
    expect(interfacesOf(wasm as Uint8Array)).toEqual({
      imports: ['svc:one/two@1.2.3', 'svc:seven/eight@0.0.1'],
      exports: ['svc:three/four@4.5.6', 'svc:five/six@7.8.9'],
    });
    expect(interfaceNames(wasm as Uint8Array)).toEqual([
      'svc:one/two@1.2.3',
      'svc:three/four@4.5.6',
      'svc:five/six@7.8.9',
      'svc:seven/eight@0.0.1',
    ]);
  });

  it('number 100,000 at most: more fail before they are read', () => {
    const withImports = (count: number): Uint8Array => {
      const entries = Buffer.alloc(count * 4, Buffer.from([0x00, 0x00, 0x01, 0x00]));
      const body = Buffer.from([...encodeUnsigned(BigInt(count)), ...entries]);
      return Buffer.from([0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0, 10, ...encodeUnsigned(BigInt(body.length)), ...body]);
    };
    expect(externNames(withImports(100_000))).toEqual({ imports: [''], exports: [] });
    for (const names of [interfaceNames, externNames, interfacesOf])
      expect(() => names(withImports(100_001))).toThrow('more than 100,000 imports and exports');
  });

  it('fail in bytes that are no component, and in nothing else', async () => {
    const { wasm } = await componentText(toolRunning(''));
    const whole = wasm as Uint8Array;
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const altered = Uint8Array.from(whole);
        altered[at] = (altered[at] ?? 0) ^ change;
        for (const bytes of [altered, whole.subarray(0, at)]) {
          try {
            interfaceNames(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedWasm);
          }
        }
      }),
    );
  });
});

describe('a component', () => {
  it('fails when it is built for a later interface, before anything of it runs, each time', async () => {
    const text = toolRunning('call $emit').replaceAll('svc:text/chunks@0.1.0', 'svc:text/chunks@0.2.0');
    const heard: string[] = [];
    const tool = host.open(await componentText(text), noGrants);
    for (let time = 0; time < 2; time += 1) {
      const chunks = { 'svc:text/chunks@0.1.0#emit-chunk': (chunk: string) => void heard.push(chunk) };
      const { kind, message } = await faultOf(tool.call(toolCall({}, { host: chunks })));
      expect({ kind, message }).toEqual({
        kind: 'unavailable',
        message:
          'the component of written-out cannot be used: it is built for svc:text/chunks@0.2.0, and this svc has svc:text 0.1.0 (E-ART-016): ' +
          'update svc, or build it with the @svc/guest of a folder that svc new makes',
      });
    }
    expect(heard).toEqual([]);
  });

  it('answers when it exports an earlier version than its caller names', async () => {
    const tool = host.open(await componentText(toolRunning('call $emit')), noGrants);
    expect(await tool.call(toolCall({}, { export: 'svc:tool/run@0.1.7#run' }))).toMatchObject({ content: 'done' });
  });
});
