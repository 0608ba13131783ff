/** The table of all commands. */

import type { Command } from 'commander';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';

interface CommandEntry {
  readonly name: string;
  readonly load: () => Promise<(context: CommandContext) => Command>;
}

/** Every command of `svc`, in the order that the help lists them. */
export const commands: readonly CommandEntry[] = [
  { name: 'run', load: async () => (await import('../run/run-command.ts')).runCommand },
  { name: 'chat', load: async () => (await import('../chat/chat.ts')).chatCommand },
  { name: 'serve', load: async () => (await import('../serve/serve.ts')).serveCommand },
  { name: 'stop', load: async () => (await import('../sessions/stop.ts')).stopCommand },
  { name: 'ps', load: async () => (await import('../sessions/ps.ts')).psCommand },
  { name: 'sessions', load: async () => (await import('../sessions/sessions.ts')).sessionsCommand },
  { name: 'send', load: async () => (await import('../sessions/tasks/send.ts')).sendCommand },
  { name: 'tasks', load: async () => (await import('../sessions/tasks/tasks.ts')).tasksCommand },
  { name: 'cancel', load: async () => (await import('../sessions/tasks/cancel.ts')).cancelCommand },
  { name: 'answer', load: async () => (await import('../sessions/tasks/answer.ts')).answerCommand },
  { name: 'watch', load: async () => (await import('../sessions/watch.ts')).watchCommand },
  { name: 'view', load: async () => (await import('../look-back/view.ts')).viewCommand },
  { name: 'token', load: async () => (await import('../sessions/token/token.ts')).tokenCommand },
  { name: 'trace', load: async () => (await import('../look-back/trace/trace.ts')).traceCommand },
  { name: 'logs', load: async () => (await import('../sessions/logs/logs.ts')).logsCommand },
  { name: 'prune', load: async () => (await import('../sessions/prune/prune.ts')).pruneCommand },
  { name: 'test', load: async () => (await import('../look-back/test/test.ts')).testCommand },
  { name: 'install', load: async () => (await import('../artifacts/install.ts')).installCommand },
  { name: 'add', load: async () => (await import('../artifacts/add.ts')).addCommand },
  { name: 'remove', load: async () => (await import('../artifacts/remove.ts')).removeCommand },
  { name: 'update', load: async () => (await import('../artifacts/update.ts')).updateCommand },
  { name: 'outdated', load: async () => (await import('../artifacts/outdated.ts')).outdatedCommand },
  { name: 'info', load: async () => (await import('../artifacts/info.ts')).infoCommand },
  { name: 'search', load: async () => (await import('../artifacts/search.ts')).searchCommand },
  { name: 'new', load: async () => (await import('../artifacts/new.ts')).newCommand },
  { name: 'build', load: async () => (await import('../artifacts/build.ts')).buildCommand },
  { name: 'publish', load: async () => (await import('../artifacts/publish.ts')).publishCommand },
  { name: 'sign', load: async () => (await import('../artifacts/signing/sign.ts')).signCommand },
  { name: 'verify', load: async () => (await import('../artifacts/signing/verify.ts')).verifyCommand },
  { name: 'key', load: async () => (await import('../artifacts/signing/key.ts')).keyCommand },
  { name: 'trust', load: async () => (await import('../artifacts/signing/trust.ts')).trustCommand },
  { name: 'deprecate', load: async () => (await import('../artifacts/version-state.ts')).deprecateCommand },
  { name: 'yank', load: async () => (await import('../artifacts/version-state.ts')).yankCommand },
  { name: 'block', load: async () => (await import('../artifacts/version-state.ts')).blockCommand },
  { name: 'restore', load: async () => (await import('../artifacts/version-state.ts')).restoreCommand },
  { name: 'list', load: async () => (await import('../artifacts/list.ts')).listCommand },
  { name: 'doctor', load: async () => (await import('../machine/doctor.ts')).doctorCommand },
  { name: 'explain', load: async () => (await import('../machine/explain.ts')).explainCommand },
  { name: 'help', load: async () => (await import('./help/help.ts')).helpCommand },
  { name: 'completion', load: async () => (await import('./completion/completion.ts')).completionCommand },
  { name: '__complete', load: async () => (await import('./completion/complete.ts')).completeCommand },
];
