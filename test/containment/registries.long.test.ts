import { connect, createServer, type AddressInfo } from 'node:net';
import { stripVTControlCharacters } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';

import { everywhere, trialLimits } from '@svc/svc/machine/program-trials.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { printed, sealed, shell } from './contained-capsule.ts';
import { needsPrograms, openCapsule } from './use-capsule.ts';

interface Build {
  readonly name: string;
  readonly programs: readonly string[];
  /** What is granted, and asked by the program. */
  readonly hosts: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly script: string;
  readonly prints: string;
}

const builds: readonly Build[] = [
  {
    name: 'mvn',
    programs: ['mvn', 'java', 'javac'],
    hosts: ['repo.maven.apache.org'],
    files: {
      'pom.xml': `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>small</groupId><artifactId>small</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency>
  </dependencies>
</project>
`,
      'src/main/java/Small.java': `public class Small {
  static int two() { return 2; }
  public static void main(String[] words) { System.out.println("packed"); }
}
`,
      'src/test/java/SmallTest.java': `public class SmallTest {
  @org.junit.Test public void isTwo() { org.junit.Assert.assertEquals(2, Small.two()); }
}
`,
    },
    script:
      'mvn -B -ntp -Dstyle.color=never package > log && sed -n "s/^Tests run: 1, Failures: 0, Errors: 0, Skipped: 0$/tested/p" log && java -cp target/small-1.jar Small',
    prints: 'tested\npacked\n',
  },
  {
    name: 'go',
    programs: ['go'],
    hosts: ['proxy.golang.org'],
    files: {
      'go.mod': 'module a\n\ngo 1.18\n\nrequire github.com/google/uuid v1.6.0\n',
      'main.go': `package main

import (
	"fmt"

	"github.com/google/uuid"
)

func main() { fmt.Println(uuid.Nil) }
`,
      'a_test.go': 'package main\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n',
    },
    script: 'go mod tidy && go run . && go test ./... > log && sed "s/[[:space:]].*//" log',
    prints: '00000000-0000-0000-0000-000000000000\nok\n',
  },
  {
    name: 'cargo',
    programs: ['cargo', 'rustc', 'cc'],
    hosts: ['index.crates.io', 'static.crates.io'],
    files: {
      'Cargo.toml': '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nitoa = "=1.0.15"\n',
      'src/main.rs': 'fn main() { println!("{}", itoa::Buffer::new().format(7)); }\n#[test]\nfn adds() {}\n',
    },
    script: 'cargo run -q && cargo test -q > log && sed -n "s/.*\\(1 passed\\).*/\\1/p" log',
    prints: '7\n1 passed\n',
  },
  {
    name: 'npm',
    programs: ['npm', 'node'],
    hosts: ['registry.npmjs.org'],
    files: { 'package.json': '{ "name": "small", "version": "1.0.0" }\n' },
    script: `npm install --no-audit --no-fund --silent is-number@7.0.0 && node -p "require('is-number')(7)"`,
    prints: 'true\n',
  },
  {
    name: 'pip',
    programs: ['python3'],
    hosts: ['pypi.org', 'files.pythonhosted.org'],
    files: {},
    script:
      'python3 -m venv own && own/bin/pip install -q --disable-pip-version-check six==1.16.0 && own/bin/python -c "import six; print(six.__version__)"',
    prints: '1.16.0\n',
  },
];

/** Whether this machine connects to it without a proxy. */
async function isReached(host: string): Promise<boolean> {
  const socket = connect({ host, port: 443, timeout: 10_000 });
  const answer = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    for (const end of ['error', 'timeout']) socket.once(end, () => resolve(false));
  });
  socket.destroy();
  return answer;
}

/** A port of this machine that leads to a host. */
async function leadingTo(host: string): Promise<number> {
  const server = createServer((client) => {
    const upstream = connect({ host, port: 443 });
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The variables of this machine that name authorities: it may reach registries through a proxy that opens TLS. */
const authorities = Object.fromEntries(
  ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
);

describe.each(sealed.slice(0, 1))('$name, behind the proxy of a company', (setup) => {
  it.for(builds)('$name builds with what its granted registry has', { timeout: 300_000 }, async (build, context) => {
    const { name, programs, hosts, files, script, prints } = build;
    needsPrograms(context, ...programs);
    for (const host of hosts) context.skip(!(await isReached(host)), `needs ${host}`);
    const ports = Object.fromEntries(
      await Promise.all(hosts.map(async (host) => [`${host}:443`, await leadingTo(host)])),
    );
    const proxy = await StandInProxy.forTest({ route: (target) => ports[target] ?? null });
    const capsule = await openCapsule(context, setup, {
      calls: [shell(name, `{ ${script}; } 2> said || { cat said log 2>&1; false; }`, 'sh')],
      capabilities: `filesystem: { workdir_exec: true }
resources: ${JSON.stringify(trialLimits)}
network: { allow: [${hosts.join(', ')}] }
shell: { allow: [${[...new Set([...everywhere, ...programs])].join(', ')}] }`,
      files: Object.fromEntries(
        Object.entries({ '.keep': '', ...files }).map(([file, text]) => [`work/${file}`, text]),
      ),
      args: ['--workdir', 'work'],
      env: { ...authorities, HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` },
    });
    const { text, isError } = await capsule.result(name);
    expect({ text: stripVTControlCharacters(text), isError }).toEqual({ text: printed(prints), isError: false });
    expect(proxy.asked).toContain(`${hosts[0]}:443`);
  });
});
