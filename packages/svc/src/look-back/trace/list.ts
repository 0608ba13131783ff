/** The command `svc trace list`: lists the recorded sessions of a workspace. */

import { Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { capsuleCell, suffixOf } from '@svc/record/sessions/session-names.ts';
import { type Column, renderTable } from '@svc/terminal/screen/table.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { sessionsFolders, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { manifestFlag, manifestHelp } from '../../command/session-arguments.ts';
import type { SessionFacts } from '@svc/record/sessions/listed-session.ts';
import { sessionList } from '@svc/record/sessions/session-list.ts';
import { shownBytes, shownMinute } from '@svc/kit/shown-values.ts';

const columns: readonly Column[] = [
  { title: 'SESSION' },
  { title: 'CAPSULE', keeps: 8 },
  { title: 'STARTED', keeps: 16 },
  { title: 'STATUS' },
  { title: 'TASKS' },
  { title: 'STEPS' },
  { title: 'TOKENS' },
  { title: 'JOURNAL', keeps: 7 },
];

/** `svc trace list`: newest first; one without a journal has `-` in its place. */
export function listCommand(context: CommandContext): Command {
  return new Command('list')
    .description('List the recorded sessions of this workspace.')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object per line')
    .action((options: WorkspaceOption & { readonly json?: boolean }) => {
      const folders = sessionsFolders(context, options);
      const newestFirst = sessionList(folders, {
        home: context.home,
        tell: (found) => context.stderr.write(render([found], context)),
      });
      if (options.json === true) {
        for (const each of newestFirst) context.stdout.write(jsonLine(each));
      } else if (newestFirst.length === 0) {
        context.stderr.write(say`no session is recorded in ${folders[0]}\n`);
      } else {
        const ids = newestFirst.map(({ session_id: id }) => id);
        context.stdout.write(
          renderTable(
            columns,
            newestFirst.map((each) => rowOf(each, ids)),
            context.stdout,
          ),
        );
      }
    });
}

function rowOf(facts: SessionFacts, ids: readonly string[]): readonly string[] {
  const { journal, steps } = facts;
  return [
    `…${suffixOf(facts.session_id, ids)}`,
    capsuleCell(facts),
    facts.started_at_ms === null ? '-' : shownMinute(facts.started_at_ms),
    facts.status,
    String(facts.tasks),
    steps === null ? '-' : String(steps),
    String(facts.tokens),
    journal === null
      ? facts.journal_removed_at_ms === null
        ? '-'
        : 'removed'
      : `${journal.capture} ${shownBytes(journal.bytes)}`,
  ];
}
