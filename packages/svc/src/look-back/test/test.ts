/** The command `svc test`: runs recorded sessions as regression tests of prompts, tools and manifests. */

import { statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Command } from 'commander';

import { loadEnvironment } from '@svc/artifacts/manifest/env-file.ts';
import { readProject, type TodaysProject } from '@svc/capsule/replay/todays-setup.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { removeLeftovers } from '@svc/kit/files/scratch-folder.ts';
import { temporaryPrefix } from '@svc/kit/files/temporary-name.ts';
import { unlessRefused } from '@svc/kit/files/unless-refused.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { pageOf } from '@svc/terminal/screen/page.ts';
import { exactLine, jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { lineDiff } from '@svc/view-server/rows/line-diff.ts';
import { placesOf } from '../../command/project.ts';
import { manifestFlag } from '../../command/session-arguments.ts';
import { type AcceptedChange, acceptedChange, writeChange } from './accept-changes.ts';
import { junitReport } from './junit.ts';
import { recordTest } from './record-test.ts';
import { runTest, type TestRun } from './run-test.ts';
import { expectationFile, findTests, type TestFolder } from './test-folders.ts';
import { factsOf, renderFailedTest, rowOf, endOf, type TestCounts } from './test-report.ts';

/** Comparisons of two lines for the change of one `expect.yaml` that is shown: of 2000 lines with 2000 others. */
const maxCells = 2001 * 2001;

interface TestOptions extends WorkspaceOption {
  readonly record?: string;
  readonly session?: string;
  readonly update?: boolean;
  readonly junit?: string;
  readonly json?: boolean;
}

/** `svc test [dir] [name…]`: runs each recorded session again with the manifest, prompt and tools of today (docs/testing.md). */
export function testCommand(context: CommandContext): Command {
  return new Command('test')
    .description('Run recorded sessions again with the prompt, tools and grants of today, without a model.')
    .argument('[dir]', 'the folder of the tests; tests beside the manifest when absent')
    .argument('[name...]', 'the tests to run; all of them when absent')
    .option('--record <name>', 'make a test of a recorded session, and run it')
    .option('--session <session>', 'the session to make a test of; the newest when absent')
    .option('--update', 'take what differs into expect.yaml, shown before it is written')
    .option('--junit <file.xml>', 'write a report for CI systems too; one that is there is replaced')
    .option('--json', 'write one JSON object a line')
    .option(manifestFlag, 'the manifest that the sessions are held to', './svc.yaml')
    .action(async (first: string | undefined, others: readonly string[], options: TestOptions, command: Command) => {
      if (options.session !== undefined && options.record === undefined)
        command.error('error: --session says what --record makes a test of');
      if (options.record !== undefined && options.update === true)
        command.error('error: --record makes a test, and --update changes one');
      const where = placeOf(context, options, first);
      const names = where.isGiven ? others : first === undefined ? [] : [first, ...others];
      if (options.record !== undefined && names.length > 0)
        command.error(`error: there is no folder ${names[0]} to make the test in`);
      const project = await readProject({
        file: options.manifest,
        env: loadEnvironment({
          directory: dirname(resolve(context.cwd, options.manifest)),
          process: context.env,
          useFile: true,
        }),
        places: placesOf(context, options.manifest),
      });
      if (project.warnings.length > 0) context.stderr.write(render(project.warnings, context));
      const tests =
        options.record === undefined
          ? findTests(where.directory, where.shown, names)
          : [await made(options.record, where, options, { context, project })];
      process.exitCode = await new TestSession(project, options, context).run(tests);
    });
}

interface TestPlace {
  readonly directory: string;
  /** What messages call it. */
  readonly shown: string;
  /** Whether the first argument names it. */
  readonly isGiven: boolean;
}

/** The first argument is the folder when there is one of that name, or when it is a path; else all are names of tests. */
function placeOf({ cwd }: CommandContext, { manifest }: WorkspaceOption, first: string | undefined): TestPlace {
  if (first !== undefined) {
    const path = resolve(cwd, first);
    const isFolder = unlessRefused(() => statSync(path).isDirectory(), false);
    if (isFolder || first.includes('/'))
      return { directory: path, shown: first.replace(/(?<=.)\/+$/, ''), isGiven: true };
  }
  const directory = join(dirname(resolve(cwd, manifest)), 'tests');
  const shown = relative(cwd, directory);
  return { directory, shown: shown.startsWith('..') ? directory : shown, isGiven: false };
}

async function made(
  name: string,
  { directory, shown: shownDirectory }: TestPlace,
  { session: wanted, manifest, json }: TestOptions,
  { context, project }: { readonly context: CommandContext; readonly project: TodaysProject },
): Promise<TestFolder> {
  const { redact } = project;
  const request = { name, session: wanted, manifest, directory, shownDirectory, redact };
  const { test, session, steps, warnings } = await recordTest(request, context);
  const told = say`recorded ${test.shown}: ${steps === 1 ? '1 step' : `${steps} steps`} of ${session}\n`;
  if (json !== true) context.stdout.write(told);
  if (warnings.length > 0) context.stderr.write(render(warnings, context));
  return test;
}

/** One run of `svc test`. */
class TestSession {
  readonly #project: TodaysProject;
  readonly #options: TestOptions;
  readonly #context: CommandContext;
  readonly #counts: TestCounts = { passed: 0, stale: 0, failed: 0, refused: 0 };
  readonly #changes: AcceptedChange[] = [];
  /** Without what was compared, which may be large. */
  readonly #runs: TestRun[] = [];
  readonly #reports: string[] = [];

  constructor(project: TodaysProject, options: TestOptions, context: CommandContext) {
    this.#project = project;
    this.#options = options;
    this.#context = context;
  }

  /** The exit code. One test after the other, so that many take no more memory than the largest. */
  async run(tests: readonly TestFolder[]): Promise<number> {
    const { stdout } = this.#context;
    for (const test of tests) {
      const run = await runTest(test, this.#project, () => systemClock.monotonicMs());
      this.#note(run);
      stdout.write(this.#options.json === true ? jsonLine(factsOf(run)) : rowOf(run));
    }
    if (this.#options.json === true) stdout.write(jsonLine({ tests: tests.length, ...this.#counts }));
    else stdout.write(endOf(this.#reports, this.#counts));
    await this.#writeReport();
    const updated = await this.#update();
    return this.#counts.failed + this.#counts.refused === updated ? 0 : 1;
  }

  #note(run: TestRun): void {
    const { outcome } = run;
    this.#counts[outcome.kind] += 1;
    if (outcome.kind === 'passed' && outcome.stale !== null) this.#counts.stale += 1;
    if (outcome.kind === 'failed') {
      const change = acceptedChange(run, this.#project.redact);
      const isUpdatable = change !== null;
      this.#reports.push(renderFailedTest(pageOf(this.#context.stdout), { run, outcome, isUpdatable }));
      if (change !== null && this.#options.update === true) this.#changes.push(change);
    }
    if (outcome.kind === 'refused') {
      const problems = render(outcome.problems, this.#context);
      this.#reports.push(pageOf(this.#context.stdout).own(say`\n${run.test.name} cannot be run\n${problems}`));
    }
    this.#runs.push({ ...run, compared: null });
  }

  async #writeReport(): Promise<void> {
    const { junit } = this.#options;
    if (junit === undefined) return;
    const path = resolve(this.#context.cwd, junit);
    removeLeftovers(dirname(path), temporaryPrefix, { now: systemClock.now(), owner: thisUser() });
    try {
      await replaceFile(path, [Buffer.from(this.#report())]);
    } catch (error) {
      throw ioFault(error, `cannot write ${path}`);
    }
  }

  #report(): string {
    const { loaded, redact } = this.#project;
    return junitReport(redact(loaded.manifest.name), this.#runs);
  }

  /** How many tests expect now what happens now. All changes are shown before the first is written. */
  async #update(): Promise<number> {
    if (this.#options.update !== true) return 0;
    const { stdout } = this.#context;
    const { redact } = this.#project;
    for (const { run, ...change } of this.#changes) {
      const [before, after] = [redact(change.before), redact(change.after)];
      const file = join(run.test.shown, expectationFile);
      if (this.#options.json === true) {
        stdout.write(jsonLine({ updated: run.test.name, path: file, before, after }));
        continue;
      }
      stdout.write(say`\nupdate ${file}\n`);
      for (const [mark, line] of lineDiff(before, after, maxCells)) stdout.write(exactLine`  ${mark} ${line}\n`);
    }
    for (const change of this.#changes) await writeChange(change);
    if (this.#options.json !== true) this.#tellUpdated();
    return this.#changes.length;
  }

  #tellUpdated(): void {
    const { stdout } = this.#context;
    const [updated, left] = [this.#changes.length, this.#counts.failed - this.#changes.length];
    if (updated > 0) stdout.write(say`\n${testsText(updated)} updated: look at the changes before you commit them\n`);
    if (left > 0) stdout.write(say`\n${testsText(left)} cannot be updated: record again\n`);
  }
}

function testsText(count: number): string {
  return count === 1 ? '1 test' : `${count} tests`;
}
