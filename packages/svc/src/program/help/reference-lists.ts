/** Reads the lists of options in `docs/cli.md`: each line begins as its option does in the help, and the page may add to it. */

const line = /^( *)- `([^`]+)`: (.*)$/gm;

/** What a section adds to its options and to the commands below, by `--json`, `svc trace show` or `svc trace show --json`. */
export function additionsOf(section: string): ReadonlyMap<string, string> {
  const additions = new Map<string, string>();
  let below = '';
  for (const [, indent = '', term = '', text = ''] of section.matchAll(line)) {
    const name = term.startsWith('svc ') ? term.replace(/ [<[].*/, '') : (/--[\w-]+/.exec(term)?.[0] ?? term);
    if (indent === '') below = name;
    additions.set(indent === '' ? name : `${below} ${name}`, text.split(/(?<=\.) (.*)/)[1] ?? '');
  }
  return additions;
}

/** Whether a block of the page is such a list. */
export function isOptionList(block: string): boolean {
  return /^- (`(svc |-)|\[Common\])/.test(block);
}

/** The text below a heading, up to the next one of its level; empty without that heading. */
export function sectionOf(reference: string, heading: string): string {
  const start = reference.indexOf(`\n## ${heading}\n`);
  if (start < 0) return '';
  const from = start + `\n## ${heading}\n`.length;
  const end = reference.indexOf('\n## ', from);
  return reference.slice(from, end < 0 ? undefined : end);
}
