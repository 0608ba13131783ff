/** The table of all commands. */

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type * as SessionsModule from '../sessions/sessions.ts';
import type { CommandEntry, CommandGroup } from './command-tree.ts';

const work: CommandGroup = 'Give work:';
const running: CommandGroup = 'See what runs:';
const past: CommandGroup = 'Look back:';
const artifacts: CommandGroup = 'Use tools and other artifacts:';
const authors: CommandGroup = 'Write, sign and publish them:';
const machine: CommandGroup = 'This machine, and svc itself:';

/** Goes on with a session that was chosen from a list. */
function goOnIn(context: CommandContext): Parameters<typeof SessionsModule.sessionsCommand>[1] {
  return async (session, options) => {
    const { talkWith } = await import('../chat/chat.ts');
    const usage = (problem: string): never => {
      throw new Error(problem);
    };
    const given = { ...options, envFile: true, history: true };
    process.exitCode = await talkWith(session, given, { context, usage, message: null });
  };
}

/** Every command of `svc`, in the order of docs/cli.md. The help lists them by group, each group where its first command stands. */
export const commands: readonly CommandEntry[] = [
  { name: 'run', group: work, load: async () => (await import('../run/run-command.ts')).runCommand },
  { name: 'chat', group: work, load: async () => (await import('../chat/chat.ts')).chatCommand },
  { name: 'serve', group: work, load: async () => (await import('../serve/serve.ts')).serveCommand },
  { name: 'stop', group: running, load: async () => (await import('../sessions/stop.ts')).stopCommand },
  { name: 'ps', group: running, load: async () => (await import('../sessions/ps.ts')).psCommand },
  {
    name: 'sessions',
    group: running,
    load: async () => {
      const { sessionsCommand } = await import('../sessions/sessions.ts');
      return (context) => sessionsCommand(context, goOnIn(context));
    },
  },
  { name: 'send', group: work, load: async () => (await import('../sessions/tasks/send.ts')).sendCommand },
  { name: 'tasks', group: running, load: async () => (await import('../sessions/tasks/tasks.ts')).tasksCommand },
  { name: 'cancel', group: work, load: async () => (await import('../sessions/tasks/cancel.ts')).cancelCommand },
  { name: 'answer', group: work, load: async () => (await import('../sessions/tasks/answer.ts')).answerCommand },
  { name: 'approve', group: work, load: async () => (await import('../sessions/tasks/approve.ts')).approveCommand },
  { name: 'watch', group: running, load: async () => (await import('../sessions/watch.ts')).watchCommand },
  { name: 'view', group: running, load: async () => (await import('../look-back/view.ts')).viewCommand },
  { name: 'token', group: work, load: async () => (await import('../sessions/token/token.ts')).tokenCommand },
  { name: 'trace', group: past, load: async () => (await import('../look-back/trace/trace.ts')).traceCommand },
  { name: 'logs', group: past, load: async () => (await import('../sessions/logs/logs.ts')).logsCommand },
  { name: 'prune', group: past, load: async () => (await import('../sessions/prune/prune.ts')).pruneCommand },
  { name: 'test', group: past, load: async () => (await import('../look-back/test/test.ts')).testCommand },
  { name: 'install', group: artifacts, load: async () => (await import('../artifacts/install.ts')).installCommand },
  { name: 'add', group: artifacts, load: async () => (await import('../artifacts/add.ts')).addCommand },
  { name: 'login', group: artifacts, load: async () => (await import('../artifacts/login/login.ts')).loginCommand },
  { name: 'logout', group: artifacts, load: async () => (await import('../artifacts/login/logout.ts')).logoutCommand },
  { name: 'remove', group: artifacts, load: async () => (await import('../artifacts/remove.ts')).removeCommand },
  { name: 'update', group: artifacts, load: async () => (await import('../artifacts/update.ts')).updateCommand },
  { name: 'outdated', group: artifacts, load: async () => (await import('../artifacts/outdated.ts')).outdatedCommand },
  { name: 'info', group: artifacts, load: async () => (await import('../artifacts/info.ts')).infoCommand },
  { name: 'search', group: artifacts, load: async () => (await import('../artifacts/search.ts')).searchCommand },
  { name: 'new', group: authors, load: async () => (await import('../artifacts/new.ts')).newCommand },
  { name: 'build', group: authors, load: async () => (await import('../artifacts/build.ts')).buildCommand },
  { name: 'publish', group: authors, load: async () => (await import('../artifacts/publish.ts')).publishCommand },
  { name: 'sign', group: authors, load: async () => (await import('../artifacts/signing/sign.ts')).signCommand },
  { name: 'verify', group: authors, load: async () => (await import('../artifacts/signing/verify.ts')).verifyCommand },
  { name: 'key', group: authors, load: async () => (await import('../artifacts/signing/key.ts')).keyCommand },
  { name: 'trust', group: authors, load: async () => (await import('../artifacts/signing/trust.ts')).trustCommand },
  {
    name: 'deprecate',
    group: authors,
    load: async () => (await import('../artifacts/version-state.ts')).deprecateCommand,
  },
  { name: 'yank', group: authors, load: async () => (await import('../artifacts/version-state.ts')).yankCommand },
  { name: 'block', group: authors, load: async () => (await import('../artifacts/version-state.ts')).blockCommand },
  { name: 'restore', group: authors, load: async () => (await import('../artifacts/version-state.ts')).restoreCommand },
  { name: 'list', group: artifacts, load: async () => (await import('../artifacts/list.ts')).listCommand },
  { name: 'doctor', group: machine, load: async () => (await import('../machine/doctor.ts')).doctorCommand },
  { name: 'explain', group: machine, load: async () => (await import('../machine/explain.ts')).explainCommand },
  { name: 'help', group: machine, load: async () => (await import('./help/help.ts')).helpCommand(commands) },
  {
    name: 'completion',
    group: machine,
    load: async () => (await import('./completion/completion.ts')).completionCommand(commands),
  },
  { name: '__complete', group: null, load: async () => (await import('./completion/complete.ts')).completeCommand },
];
