import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

import { hasProgram } from '../containment/use-capsule.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { certify, shown } from '../support/certify.ts';
import { ProtectedServer } from '../support/protected-server.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { svc } from '../support/svc-process.ts';

const capsule = useCapsules();
const program = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

describe('svc login', () => {
  it.skipIf(!hasProgram('openssl'))(
    'follows no server behind a proxy to an address of this machine (skipped without openssl)',
    async () => {
      const authority = certify('mcp.test');
      const about = { resource: 'https://mcp.test/mcp', authorization_servers: ['https://127.0.0.1:9'] };
      const server = createServer(shown(authority), (request, response) => {
        if (request.method === 'POST') response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
        else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(about));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => {
        server.close();
        server.closeAllConnections();
      });
      const { port } = server.address() as AddressInfo;
      const proxy = await StandInProxy.forTest({ route: (target) => (target === 'mcp.test:443' ? port : null) });
      const { code, stderr } = await svc(capsule(), ['login', 'https://mcp.test/mcp'], {
        env: {
          HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
          NO_PROXY: '127.0.0.1',
          NODE_EXTRA_CA_CERTS: authority.certificate,
        },
      });
      expect(code).toBe(1);
      expect(stderr).toContain(
        'error[E-RUN-240]: the MCP server https://mcp.test/mcp sends logins to https://127.0.0.1:9, which is 127.0.0.1, a loopback address\n',
      );
    },
  );

  it('leaves no page behind, however often the person presses Enter', async () => {
    const known = await ProtectedServer.start();
    onTestFinished(() => known.close());
    const { folder, home } = capsule();
    const own = mkdtempSync(join(tmpdir(), 'svc-pages-'));
    onTestFinished(() => rmSync(own, { recursive: true }));
    const [pages, bin, log] = [join(own, 'pages'), join(own, 'bin'), join(own, 'opened')];
    for (const each of [pages, bin]) mkdirSync(each);
    writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$1" >> ${log}\n`);
    chmodSync(join(bin, 'xdg-open'), 0o755);
    writeFileSync(log, '');
    const child = spawn(process.execPath, [program, 'login', known.remote.url], {
      cwd: folder,
      env: { PATH: `${bin}:${process.env['PATH']}`, HOME: home, TMPDIR: pages },
      stdio: 'pipe',
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    await expect.poll(() => said, { timeout: 20_000 }).toContain('paste the address');
    const [url = ''] = /^http:\/\/127\.0\.0\.1:\d+\/authorize\?.*$/m.exec(said) ?? [];
    child.stdin.write('\n\n\n');
    await expect.poll(() => readFileSync(log, 'utf8').trim().split('\n').length, { timeout: 20_000 }).toBe(3);
    await fetch(await known.landed(url));
    const [code] = (await once(child, 'close')) as [number];
    expect({ code, left: readdirSync(pages) }).toEqual({ code: 0, left: [] });
  });
});

describe('the next step about a login', () => {
  it('stays one command, whatever address a manifest has', async () => {
    const workspace = capsule();
    const from = 'mcp+http://127.0.0.1:1/mcp;id';
    workspace.write(
      'svc.yaml',
      `${readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')}artifacts:\n  - { name: server, version: 0.0.0-pin0123456789abcdef, from: "${from}", auth: login }\n`,
    );
    const { stderr } = await svc(workspace, ['run', '--task', 'x']);
    expect(stderr).toContain('error[E-RUN-241]: there is no login at http://127.0.0.1:1/mcp;id\n');
    expect(stderr).toContain("hint: run svc login 'http://127.0.0.1:1/mcp;id' beside the manifest\n");
  });
});

describe('svc doctor', () => {
  it('says which folder of logins nobody can look into', async () => {
    const workspace = capsule();
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    const folder = join(workspace.home, '.svc', 'logins');
    symlinkSync('logins', folder);
    const { code, stdout } = await svc(workspace, ['doctor']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^problem: +cannot read ${folder}: `, 'm'));
  });
});
