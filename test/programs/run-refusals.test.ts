import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { portToName } from '../support/port-to-name.ts';
import { startCapsule, svc } from '../support/svc-process.ts';

const capsule = useCapsules();

describe('the port', () => {
  it('equals network.internal_port, and a taken one is E-RUN-010 [D1-MAN-17, D1-CLI-24, D1-CLI-25, D1-ERR-01, D1-ERR-14]', async () => {
    const port = await portToName();
    const holder = createServer().listen(port, '127.0.0.1');
    await once(holder, 'listening');
    const workspace = capsule({ manifest: `network: { internal_port: ${port} }\n` });
    const refused = await svc(workspace, ['run', '--json']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^error\[E-RUN-010\]: port \d+ of network\.internal_port is already bound\nhint: /);
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
    holder.close();
    await once(holder, 'close');
    const { process, line } = await startCapsule(workspace);
    expect(line.url).toBe(`localhost:${port}`);
    process.child.kill('SIGTERM');
    expect((await process.ended).code).toBe(0);
  });

  it('has to be on an address of this machine', async () => {
    const workspace = capsule();
    const { code, stdout, stderr } = await svc(workspace, ['run', '--bind', '192.0.2.1']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error\[E-RUN-011\]: the listener cannot bind 192\.0\.2\.1: this machine has no such address/,
    );
  });
});

describe('a launch that fails', () => {
  it('says so when a file has the name of the workdir', async () => {
    const workspace = capsule();
    const { code, stderr } = await svc(workspace, ['run', '--task', 'x', '--workdir', 'svc.yaml']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error\[E-IO-001\]: the directory \S+svc\.yaml cannot be made: a file of that name is there\n/,
    );
  });

  it('leaves stdout empty, in both modes [D1-CLI-22]', async () => {
    const workspace = capsule({ manifest: 'lifecycle: { queue_depth: -1 }\ncapabilites: {}\n' });
    for (const args of [['run'], ['run', '--json']]) {
      const { code, stdout, stderr } = await svc(workspace, args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('error[E-MAN-003]');
      expect(stderr).toContain('svc.yaml:9');
    }
    expect(existsSync(join(workspace.folder, 'workdir'))).toBe(false);
  });

  it('says so when there is no manifest', async () => {
    const workspace = capsule();
    const { code, stderr } = await svc(workspace, ['run', '--manifest', 'nowhere/svc.yaml']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error\[E-IO-001\]: cannot read nowhere\/svc\.yaml/);
  });

  it('says so when the script of a scripted model is missing', async () => {
    const workspace = capsule({ files: taskFile });
    rmSync(join(workspace.folder, 'script.yaml'));
    const { code, stdout, stderr } = await svc(workspace, ['run']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error\[E-RUN-030\]: the script script\.yaml cannot be read: no such file or directory/);
  });

  it('shows a wrong flag by exit code 2', async () => {
    const workspace = capsule();
    const { code, stdout, stderr } = await svc(workspace, ['run', '--jsn']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--json');
  });
});
