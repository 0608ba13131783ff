/** Rewrites what a recorded test expects so that it expects what happens now, for `svc test --update`. */

import { join } from 'node:path';
import { parseDocument } from 'yaml';

import { ioFault } from '@svc/kit/files/io-fault.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { removeLeftovers } from '@svc/kit/files/scratch-folder.ts';
import { temporaryPrefix } from '@svc/kit/files/temporary-name.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { outcomeOf, type TestRun } from './run-test.ts';
import { expectationFile, largestExpectation } from './test-folders.ts';
import { type ExpectedTask, readExpectation } from './expectation.ts';

/** A new `expect.yaml`. */
export interface AcceptedChange {
  readonly run: TestRun;
  readonly before: string;
  readonly after: string;
}

/** Stands at the head of an `expect.yaml` that svc makes. */
export const expectationHead = '# What this recorded session is expected to come to (svc test).\n';

/**
 * The `expect.yaml` with which a test that failed passes, comments and all that did not change kept; null where no `expect.yaml` can say it, since the
 * session takes another way than it did.
 */
export function acceptedChange(run: TestRun, redact: (text: string) => string): AcceptedChange | null {
  const { compared, outcome, test } = run;
  if (outcome.kind !== 'failed' || compared === null || compared.comparison.call !== null) return null;
  const { comparison, expectation, text } = compared;
  const { grants, request, task, fingerprint } = comparison;
  const tasks = comparison.tasks.map((ended) => withoutSecret(ended, redact));
  const before = text ?? '';
  const document = parseDocument(before);
  if (grants !== null) {
    const changes = comparison.grantChanges.filter(([path]) => !isIgnored(`/grants${path}`, expectation.ignore));
    if (changes.length === 0) document.delete('grants');
    else document.set('grants', document.createNode(Object.fromEntries(changes)));
  }
  const isAsked = request !== null && expectation.requests !== 'changed';
  if (isAsked) document.set('requests', `sha256:${fingerprint}`);
  if (task !== null) document.set('tasks', document.createNode(tasks));
  const after = `${before === '' ? expectationHead : ''}${document.toString({ lineWidth: 0, flowCollectionPadding: false })}`;
  if (Buffer.byteLength(after) > largestExpectation) return null;
  const accepted = readExpectation(join(test.shown, expectationFile), after);
  const left = { grants: null, task: null };
  const isEnough = outcomeOf({ comparison: { ...comparison, ...left }, expectation: accepted }).kind === 'passed';
  return isEnough ? { run, before, after } : null;
}

/** A result with a secret in it is not written, and may be any: where the secret is not known, another text stands in its place. */
export function withoutSecret(ended: ExpectedTask, redact: (text: string) => string): ExpectedTask {
  const { state, result } = ended;
  return typeof result === 'string' && redact(result) !== result ? { state } : ended;
}

function isIgnored(path: string, ignored: readonly string[]): boolean {
  return ignored.some((each) => path === each || path.startsWith(`${each}/`));
}

/** Puts the new text in the place of the old one, which stays until then. `E-IO-001` when that is refused. */
export async function writeChange({ run: { test }, after }: AcceptedChange): Promise<void> {
  removeLeftovers(test.path, temporaryPrefix, { now: systemClock.now(), owner: thisUser() });
  try {
    await replaceFile(join(test.path, expectationFile), [Buffer.from(after)]);
  } catch (error) {
    throw ioFault(error, `cannot write ${join(test.shown, expectationFile)}`);
  }
}
