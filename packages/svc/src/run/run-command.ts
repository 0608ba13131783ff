/** The command `svc run` as the parser of command lines knows it. */

import { Command, InvalidArgumentError, Option } from 'commander';

import { captureLevels } from '@svc/artifacts/manifest/capture-levels.ts';
import type { NamedProject } from '@svc/capsule/launch/running-capsule.ts';
import type { ScopeRequest } from '@svc/capsule/launch/scope-of-launch.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { isSessionId, type SessionId } from '@svc/protocol/ids.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { jsonText, say, Shown } from '@svc/terminal/screen/shown.ts';
import { plainFlag, plainHelp, shownPlainly } from '../command/plain-context.ts';
import { run, scopeRequest, type UsageError } from './run.ts';
import { asProjectOfParent, isGiven, isWholeNumber, type RunOptions, usualOptions } from './run-options.ts';

/** For a workdir that is named, and for the folder of a task without a manifest, where it says `--write` too. */
export function writeGitOption(): Option {
  return new Option('--write-git', 'let the agent change what git runs in its folder too, such as .git/hooks');
}

/** For a capsule whose manifest asks for a folder and does not name it. */
export function projectOption(): Option {
  const says = 'the folder that a capsule with capabilities.project works in';
  return new Option('--project <dir>', says).argParser(notEmpty);
}

/** `svc run`: the only way to start a capsule (D1 "Command line"). */
export function runCommand(context: CommandContext): Command {
  return new Command('run')
    .description('Start the capsule of the manifest: it runs its task behind an HTTP door.')
    .option('--task <path or text>', 'a file with the task, or the task itself; - reads it from standard input')
    .option('-p, --print [task]', 'print the answer and nothing else; - reads the task from standard input')
    .addOption(new Option('--output <format>', 'what is printed').choices(['text', 'json', 'stream-json']))
    .option('--timeout <time>', 'end the task after this time, such as 5m')
    .option('--max-tokens <n>', 'the most tokens that the session may use', aWholeNumber)
    .addOption(new Option('--max-cost <amount>').hideHelp())
    .option('--manifest <path>', 'the manifest', usualOptions.manifest)
    .option('--workdir <dir>', 'the directory the agent reads and writes, instead of a fresh one')
    .addOption(projectOption())
    .addOption(writeGitOption())
    .option('--capsule <name>', 'run a published capsule from the store instead of a manifest file')
    .option('--capsule-version <version>', 'the exact version of that capsule')
    .option(
      '--bind <address>',
      'address the listener binds; 0.0.0.0 accepts other machines',
      notEmpty,
      usualOptions.bind,
    )
    .option('--no-env-file', 'do not read the .env file of the workspace')
    .option('--offline', 'never fetch an artifact')
    .addOption(new Option('--containment <class>', 'raise the containment floor').choices(containmentClasses))
    .option('--replay [session]', 'run a recorded session again, reaching nothing: the newest, or the one named')
    .option('--components', 'with --replay: run its components again too, with the recorded answers of their imports')
    .addOption(new Option('--capture <level>', 'what is recorded beside the trace').choices(captureLevels))
    .option('--explain-scope', 'print what the capsule would be granted and what contains it, and start nothing')
    .option(plainFlag, plainHelp)
    .option('-v, --verbose', 'print the workdir, the manifest, the driver and the skills too')
    .option('--json', 'write one JSON line once the listener is up, and nothing else; of --explain-scope the report')
    .addOption(approvalOption())
    .addOption(spawnedByOption())
    .addOption(new Option('--project-of-parent <json>', 'the folder of the parent').argParser(aProject).hideHelp())
    .addOption(new Option('--session-id <id>', 'the id of the session').argParser(aSessionId).hideHelp())
    .addOption(new Option('--continues <id>', 'the session to go on with').argParser(aSessionId).hideHelp())
    .addOption(new Option('--capture-ceiling <level>', 'the most that is recorded').choices(captureLevels).hideHelp())
    .addOption(new Option('--capsule-sha256 <hash>', 'the hash of that capsule').argParser(aSha256).hideHelp())
    .addOption(new Option('--for-chat', 'stay up for a conversation').hideHelp())
    .addOption(new Option('--stop-within <ms>', 'the time a stop may take').argParser(aWholeNumber).hideHelp())
    .action(async (options: RunOptions, command: Command) => {
      const where = await shownPlainly(context, options.plain);
      if ((options.capsule === undefined) !== (options.capsuleVersion === undefined)) {
        command.error('error: --capsule and --capsule-version go together');
      }
      if (options.task === '-' && options.spawnApprovalStdin === true) {
        command.error('error: standard input holds the approval, and cannot hold the task too');
      }
      if (options.components === true && options.replay === undefined) {
        command.error('error: --components goes with --replay');
      }
      if (options.writeGit === true && options.workdir === undefined) {
        command.error('error: --write-git goes with --workdir: a fresh workdir holds no repository');
      }
      const usage: UsageError = (problem) => command.error(`error: ${problem}`);
      const { print, output, timeout, maxTokens, maxCost } = options;
      const isScript = [print, output, timeout, maxTokens, maxCost].some((given) => given !== undefined);
      if (isScript) process.exitCode = await run(options, where, usage);
      else if (options.replay !== undefined) {
        const { replay } = await import('./replay.ts');
        process.exitCode = await replay(options.replay, options, where);
      } else if (options.explainScope === true) await explain(options, context);
      else process.exitCode = await run(options, where);
    });
}

/** This and the next are how a parent capsule starts a child, with `--session-id`, `--capture-ceiling` and `--stop-within`: nobody types them. */
function approvalOption(): Option {
  return new Option('--spawn-approval-stdin', 'read the approval of the referee from standard input').hideHelp();
}

function spawnedByOption(): Option {
  return new Option('--spawned-by <pid>', 'end with this process').argParser(aWholeNumber).hideHelp();
}

function notEmpty(value: string): string {
  if (!isGiven(value)) throw new InvalidArgumentError('it is empty');
  return value;
}

function aWholeNumber(value: string): number {
  if (!isWholeNumber(value)) throw new InvalidArgumentError('it must be a whole number above 0');
  return Number(value);
}

function aProject(value: string): NamedProject {
  const { projectOfParent } = asProjectOfParent(value) ?? {};
  if (projectOfParent === undefined) throw new InvalidArgumentError('it must be what a parent capsule writes');
  return projectOfParent;
}

function aSha256(value: string): string {
  if (!sha256Shape.test(value)) throw new InvalidArgumentError('it must be a SHA-256 in hex');
  return value;
}

function aSessionId(value: string): SessionId {
  if (!isSessionId(value)) throw new InvalidArgumentError('it must be a session id');
  return value;
}

/** `--explain-scope`: the report, also of a launch that would be refused (D1 "Command line"). */
export async function explain(
  options: RunOptions,
  context: CommandContext,
  own: Partial<ScopeRequest> = {},
): Promise<void> {
  const { explainScope, renderReportOnly, renderScopeReport } = await import('./scope-report.ts');
  const { scope, json, refusals, warnings, redact } = await explainScope({
    ...scopeRequest(options, context),
    ...own,
  });
  if (warnings.length > 0) context.stderr.write(render(warnings, context));
  const isJson = options.json === true;
  context.stdout.write(isJson ? jsonText(json) : Shown.cleaned(redact(renderScopeReport(scope))));
  if (refusals.length === 0) return;
  const reportOnly = Shown.cleaned(redact(renderReportOnly(refusals)));
  if (isJson) context.stderr.write(reportOnly);
  else context.stdout.write(say`\n${reportOnly}`);
}
