import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { needsClass } from '../../packages/sandbox/test/needs-class.ts';
import { certify, shown } from '../support/certify.ts';
import { makeRepository, serveGit } from '../support/git-service.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const example = fileURLToPath(new URL('../../examples/pull-requests', import.meta.url));
const token = 'canary-token-0123456789';
const basic = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;

interface Forge {
  readonly workspace: Workspace;
  readonly env: Readonly<Record<string, string>>;
  /** The pull requests that were opened. */
  readonly opened: unknown[];
  /** Branches of the repository. */
  readonly branches: () => string;
}

/** A server with the repository and the few calls of the API that the example makes, at the names that it uses. */
async function forge(): Promise<Forge> {
  const authority = certify('*.github.com');
  const own = certify('github.com');
  const root = mkdtempSync(join(tmpdir(), 'svc-forge-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'acme'));
  makeRepository(join(root, 'acme'), 'site.git');
  const opened: unknown[] = [];
  const git = createServer(shown(own), (request, response) => {
    if (request.headers.authorization === basic) serveGit(request, response, root);
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  });
  const api = createServer(shown(authority), (request, response) => {
    if (request.headers.authorization !== `Bearer ${token}` || request.url !== '/repos/acme/site/pulls')
      return void response.writeHead(404).end();
    void text(request).then((body) => {
      opened.push(JSON.parse(body));
      response.writeHead(201).end('{"number":1}');
    });
  });
  const ports = await Promise.all(
    [git, api].map(async (server) => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => {
        server.closeAllConnections();
        server.close();
      });
      return (server.address() as AddressInfo).port;
    }),
  );
  const routes = new Map([
    ['github.com:443', ports[0]],
    ['api.github.com:443', ports[1]],
  ]);
  const proxy = await StandInProxy.forTest({ route: (target) => routes.get(target) ?? null });
  const workspace = makeWorkspace({});
  onTestFinished(() => workspace.remove());
  for (const name of ['svc.yaml', 'script.yaml']) copyFileSync(join(example, name), join(workspace.folder, name));
  workspace.write(
    'authorities.pem',
    readFileSync(own.certificate, 'utf8') + readFileSync(authority.certificate, 'utf8'),
  );
  const env = {
    GITHUB_TOKEN: token,
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
    NO_PROXY: '127.0.0.1',
    NODE_EXTRA_CA_CERTS: join(workspace.folder, 'authorities.pem'),
    SVC_CONTAINMENT_CEILING: 'sealed',
  };
  const branches = (): string =>
    execFileSync('git', ['branch', '--format=%(refname:short)'], {
      cwd: join(root, 'acme', 'site.git'),
      encoding: 'utf8',
    });
  return { workspace, env, opened, branches };
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

function run({ workspace, env }: Forge): TerminalProcess {
  const task = 'Say on the site when we are open.';
  const running = new TerminalProcess(workspace, ['run', '--capture', 'content', '--task', task], {
    env,
    columns: 120,
  });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

describe.skipIf(!hasPseudoTerminals())('examples/pull-requests (skipped without python3)', { timeout: 120_000 }, () => {
  it('asks one question, before it pushes, opens a pull request, and has the token nowhere', async (context) => {
    await needsClass(context, 'sealed');
    const made = await forge();
    const running = run(made);
    await running.shows(/POST https:\/\/github\.com\/acme\/site\.git\/git-receive-pack$/);
    await running.shows(/called by: \["git","-C","site","push","origin","opening-hours"\]$/);
    await running.shows(/^send it\? y once, n no/);
    expect([made.branches(), made.opened]).toEqual(['main\n', []]);
    await new Promise((resolve) => setTimeout(resolve, 400));
    running.type('y\r');
    expect(await running.ended).toBe(0);
    expect(made.branches()).toBe('main\nopening-hours\n');
    expect(made.opened).toEqual([{ title: 'Say when we are open', head: 'opening-hours', base: 'main' }]);
    const files = filesIn(made.workspace.folder).concat(filesIn(made.workspace.home));
    for (const path of files) expect(readFileSync(path, 'latin1').includes('canary'), path).toBe(false);
    const asked = files.filter((path) => path.endsWith('approvals.jsonl')).map((path) => readFileSync(path, 'utf8'));
    expect(asked.join('').match(/"k":"asked"/g)).toHaveLength(1);
  });

  it('pushes nothing where nobody is there to be asked', async (context) => {
    await needsClass(context, 'sealed');
    const { workspace, env, branches } = await forge();
    const ended = await svc(workspace, ['run', '-p', 'Say on the site when we are open.'], { env });
    expect(ended.stdout + ended.stderr).not.toContain('canary');
    expect(branches()).toBe('main\n');
  });
});
