import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import type { ContainmentClass } from '@svc/protocol/containment-class.ts';
import { advisory, scoped, sealed, shell, type Setup } from './contained-capsule.ts';
import { needsPrograms, useCapsule } from './use-capsule.ts';

const setups: readonly Setup<ContainmentClass>[] = [...sealed, ...scoped, ...advisory];

/** A native tool whose input and answer go by their names. */
const tool = `#!/bin/bash
read -r call < /dev/stdin
echo "$call" > /dev/stderr
[[ $call == *'"word"'* ]] && echo '{"status":"passed","content":"by name"}' > /dev/stdout
`;

const python = `python3 - <<'END'
with open("/dev/stdout", "w") as out, open("/dev/stderr", "a") as err: out.write("out\\n"); err.write("err\\n")
END`;

describe.each(setups)('the standard streams of commands in $name', (setup) => {
  const capsule = useCapsule(setup, {
    calls: [
      shell(
        'written',
        'echo out > /dev/stdout; echo err > /dev/stderr; echo more >> /dev/fd/1; echo own > /proc/self/fd/2',
      ),
      shell(
        'copied',
        'echo both | tee /dev/stdout; echo in | cat /dev/stdin - > /dev/stderr; cat < /dev/null > /dev/stdout',
      ),
      shell('behind', '(echo late > /dev/stderr; echo later > /dev/stdout) & wait'),
      shell('python', python),
      { id: 'alone', tool: 'tee', input: { command: '/dev/stdout /dev/stderr' } },
      { id: 'native', tool: 'named', input: { word: 'a' } },
    ],
    manifest: 'artifacts: [{ name: named, version: 1.0.0, source: ./named }]\n',
    capabilities: 'shell: { allow: [bash, cat, tee, python3] }',
    files: {
      'named/svc.yaml': 'name: named\nversion: 1.0.0\nruntime: tool\nimplementation: native\n',
      'named/bin/named': tool,
    },
    prepare: ({ folder }) => {
      chmodSync(join(folder, 'named', 'bin', 'named'), 0o755);
      return {};
    },
  });

  it.for([
    ['can be written to by name', 'written', 'exit code: 0\nstdout:\nout\nmore\nstderr:\nerr\nown'],
    ['can be copied to by name', 'copied', 'exit code: 0\nstdout:\nboth\nboth\nstderr:\nin'],
    ['can be written to by name from behind', 'behind', 'exit code: 0\nstdout:\nlater\nstderr:\nlate'],
    ['can be opened by a command that is no shell', 'alone', 'exit code: 0\nstdout: (empty)\nstderr: (empty)'],
    ['are those of a native tool too', 'native', 'by name'],
  ] as const)('%s', async ([, id, shown], context) => {
    expect((await capsule(context).result(id)).text).toBe(shown);
  });

  it('can be opened by an interpreter', async (context) => {
    needsPrograms(context, 'python3');
    expect((await capsule(context).result('python')).text).toBe('exit code: 0\nstdout:\nout\nstderr:\nerr');
  });
});
