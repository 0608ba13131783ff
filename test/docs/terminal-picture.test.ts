import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

import { needsClass } from '../../packages/sandbox/test/needs-class.ts';
import { drawTerminal, spansOf, textOfPicture } from '../support/terminal-picture.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import { makeWorkspace } from '../support/workspace.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const picture = join(root, 'docs/pictures/terminal.svg');
const columns = 96;
const typed = 'svc run --project shop --task "Review the last commit."';
const label = 'svc run on a terminal: the commands that a reviewer ran, what they showed, and its answer';

/** The repository that the page of the example makes. */
function makeShop(folder: string): void {
  const page = readFileSync(join(root, 'examples/gallery/reviewer/README.md'), 'utf8');
  const [commands = ''] = (/```sh\n([^]*?)```/.exec(page)?.[1] ?? '').split('cd ..\n');
  execFileSync('bash', ['-e', '-c', commands], { cwd: folder });
}

/** Ids, ports, times and counts differ with each run. */
function settled(row: string): string {
  return row
    .replaceAll(/ses_[0-9a-f]+|(?<=trace show )[0-9a-f]+/g, 'id')
    .replaceAll(/\d[\d.,]* m?s\b/g, '# ms')
    .replaceAll(/\d[\d.,]*(?= tokens\b)|(?<=localhost:)\d+/g, '#')
    .replaceAll(/ +/g, ' ');
}

/** `TERMINAL_PICTURE=1 npx vitest run test/docs/terminal-picture.test.ts` takes it anew. */
it(
  'the picture of a terminal in the README shows what svc shows (skipped without pseudo-terminals)',
  { timeout: 60_000 },
  async (context) => {
    context.skip(!hasPseudoTerminals(), 'needs python3');
    await needsClass(context, 'sealed');
    const workspace = makeWorkspace({});
    onTestFinished(() => workspace.remove());
    cpSync(join(root, 'examples/gallery/reviewer'), workspace.folder, { recursive: true });
    makeShop(workspace.folder);
    const process = new TerminalProcess(workspace, ['run', '--project', 'shop', '--task', 'Review the last commit.'], {
      columns,
      env: { NO_COLOR: '', SVC_CONTAINMENT_CEILING: 'sealed' },
    });
    expect(await process.ended).toBe(0);
    const rows = await spansOf(`\u001B[1m$ ${typed}\u001B[22m\r\n${process.raw}`, columns);
    const now = drawTerminal(rows, { columns, label });
    if (env['TERMINAL_PICTURE'] !== undefined) writeFileSync(picture, now);
    expect(textOfPicture(readFileSync(picture, 'utf8')).map(settled)).toEqual(textOfPicture(now).map(settled));
    expect(now).not.toMatch(/<script|href|url\(/);
  },
);
