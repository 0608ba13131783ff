/** Says what became of a folder in which a task could write. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { FolderChanges, Told } from '@svc/sandbox/folder-changes.ts';
import { joined, say, type Shown } from '@svc/terminal/screen/shown.ts';

/** A row for each kind of change, for the report at the end. */
export function changedRows({ changed, made, removed, unseen }: FolderChanges): Shown {
  const rows = Object.entries({ changed, new: made, removed }).filter(([, { count }]) => count > 0);
  return joined([
    ...rows.map(([kind, told]) => say`${kind}: ${listed(told)}\n`),
    ...(unseen === null ? [] : [say`there may be more changes: ${unseen}\n`]),
  ]);
}

/** What a person has to look at before they go on there. */
export function changedWarnings({ obeyed, hidden }: FolderChanges): readonly Diagnostic[] {
  return [
    ...(obeyed.count === 0
      ? []
      : [
          new Diagnostic('W-RUN-176', `the task made or changed what other programs obey: ${listed(obeyed)}`, {
            hint: 'look at each before you go on there: svc runs what svc.yaml says, with your key, and git what .git says',
          }),
        ]),
    ...(hidden.count === 0
      ? []
      : [
          new Diagnostic('W-RUN-177', `git is set not to look for changes of ${listed(hidden)}`, {
            hint: 'git update-index --no-assume-unchanged --no-skip-worktree <file> shows them again',
          }),
        ]),
  ];
}

function listed({ names, count }: Told): string {
  const rest = count - names.length;
  return `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
