/** The examples that `--help` ends with, of commands that do not bring their own. */

import type { Command } from 'commander';

import { commandsBelow } from '../placed-commands.ts';

/** Examples by the words that lead to a command. */
const examples: Readonly<Record<string, readonly string[]>> = {
  run: ['svc run --task "Do the tests pass?"', 'svc run --explain-scope'],
  chat: ['svc chat', 'svc chat 4f1a', 'svc chat --continue'],
  'serve mcp': ['svc serve mcp --manifest capsule/svc.yaml', 'svc serve mcp 4f1a'],
  'serve acp': ['svc serve acp --manifest capsule/svc.yaml'],
  stop: ['svc stop 4f1a'],
  ps: ['svc ps --json'],
  watch: ['svc watch 4f1a'],
  view: ['svc view 4f1a --open', 'svc view 4f1a --export session.html', 'svc view trace.jsonl'],
  'token add': [
    'svc token add phone --scope read,send --expires 30d',
    'svc token add ci --scope send --capsule scribe',
  ],
  'token ls': ['svc token ls'],
  'token rm': ['svc token rm phone'],
  'trace list': ['svc trace list'],
  'trace steps': ['svc trace steps 4f1a --follow'],
  'trace show': ['svc trace show 4f1a', 'svc trace show 4f1a#7'],
  'trace diff': ['svc trace diff 4f1a 77c0'],
  'trace export': ['svc trace export 4f1a --output session.zip'],
  'trace import': ['svc trace import session.zip'],
  'trace rm': ['svc trace rm 4f1a'],
  logs: ['svc logs 4f1a#4', 'svc logs 4f1a --follow --stderr'],
  prune: ['svc prune --keep 5 --older 30d --dry-run', 'svc prune --artifacts --dry-run'],
  test: ['svc test --record greets --session 4f1a', 'svc test'],
  install: ['svc install', 'svc install house-rules@1.0.0', 'svc install --accept-signer'],
  add: ['svc add echo', 'svc add "echo@^1.2.0" --dry-run', 'svc add github:acme/tools@v1.2.0'],
  login: ['svc login https://mcp.example.com/mcp', 'svc login example --scope "read write"'],
  logout: ['svc logout https://mcp.example.com/mcp'],
  remove: ['svc remove echo'],
  update: ['svc update --dry-run', 'svc update echo --latest'],
  outdated: ['svc outdated --exit-code'],
  info: ['svc info echo', 'svc info echo@1.2.0'],
  deprecate: ['svc deprecate echo@1.2.0 --reason "use echo 2, which is faster"'],
  yank: ['svc yank echo@1.2.1 --reason "loses its last line"'],
  block: ['svc block echo@1.2.2 --reason "sends files away"'],
  restore: ['svc restore echo@1.2.1'],
  search: ['svc search editor'],
  new: ['svc new tool weather'],
  build: ['svc build weather'],
  publish: ['svc publish weather --registry local', 'svc publish weather --sign'],
  sign: ['svc sign weather-1.0.0.zip --key acme.key'],
  verify: ['svc verify', 'svc verify --all --json'],
  'key new': ['svc key new acme'],
  'key card': ['svc key card'],
  'trust update': ['svc trust update'],
  list: ['svc list --all'],
  doctor: ['svc doctor --containment', 'svc doctor --programs'],
  explain: ['svc explain E-MAN-003'],
  help: ['svc help trace show', 'svc help --man run'],
  completion: ['svc completion bash'],
};

const firstSteps = `To begin:
  svc "why does the cart test fail?"  do a task in the current folder, read only
  svc --write "mend it"               the same, with files that it may change
  svc                                 talk, on a terminal
  svc -p "sum it up" < notes.txt      print the answer and nothing else
`;
/** The help is longer than a screen, so a terminal shows its end alone. */
const nextSteps = `
svc <command> --help shows the options of a command, svc help --man the manual page.
To begin: svc "why does the cart test fail?"`;

/** Has the help of the program begin with what most people come for. */
export function addFirstSteps(root: Command): void {
  root.usage('"<task>" | <command> [options]').addHelpText('before', firstSteps).addHelpText('after', nextSteps);
}

/** Has the help of a command and of those below it end with examples. */
export function addExamples(command: Command): void {
  for (const { path, command: each } of commandsBelow(command, command.name())) {
    const lines = examples[path] ?? [];
    const title = lines.length === 1 ? 'Example' : 'Examples';
    if (lines.length > 0) each.addHelpText('after', `\n${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  }
}
