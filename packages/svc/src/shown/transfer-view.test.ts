import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';

import { writtenText } from '../../../../test/support/written-text.ts';
import { DownloadView, inMebibytes, ProgressLine } from './transfer-view.ts';
import { Output } from '@svc/terminal/screen/output.ts';

describe('a line of progress', () => {
  it('writes over itself, and only when it changes', () => {
    const stderr = new PassThrough();
    const line = new ProgressLine({ stderr: new Output(() => stderr) }, true);
    line.show('one');
    line.show('one');
    line.show('two');
    line.say('a word');
    line.show('');
    expect(writtenText(stderr)).toBe('one\r\u001B[2Ktwo\r\u001B[2Ka word\n');
  });

  it('writes nothing where there is no terminal, and shows no control characters of others', () => {
    const [silent, shown] = [new PassThrough(), new PassThrough()];
    new ProgressLine({ stderr: new Output(() => silent) }, false).say('a word');
    new ProgressLine({ stderr: new Output(() => shown) }, true).say('a \u001B[2J word');
    expect(writtenText(silent)).toBe('');
    expect(writtenText(shown)).not.toContain('\u001B');
  });

  it('counts in mebibytes, of a whole where it is known', () => {
    expect([inMebibytes(1_572_864, 20_971_520), inMebibytes(104_858, null)]).toEqual(['1.5 of 20.0 MiB', '0.1 MiB']);
  });
});

describe('a view of downloads', () => {
  it('shows how far one has got or how far all have, and what is there', () => {
    const stderr = new PassThrough();
    const view = new DownloadView({ stderr: new Output(() => stderr) }, true);
    view.started('a@1', 2_097_152);
    view.received('a@1', 1_048_576);
    view.started('b@1', 1_048_576);
    view.ended('a@1', { source: 'there', isStored: true });
    view.ended('b@1', { source: 'there', isStored: false });
    const erase = '\r\u001B[2K';
    expect(writtenText(stderr)).toBe(
      `fetching a@1: 0.0 of 2.0 MiB${erase}fetching a@1: 1.0 of 2.0 MiB${erase}fetching 2 archives: 1.0 of 3.0 MiB${erase}` +
        `fetched a@1 from there\nfetching b@1: 0.0 of 1.0 MiB${erase}`,
    );
    expect([view.sourceOf('a@1'), view.sourceOf('b@1')]).toEqual(['there', undefined]);
  });
});

const mebibyte = 1024 * 1024;
const erased = '\r\u001B[2K';

function view(isShown: boolean): { readonly view: DownloadView; readonly written: () => string } {
  const stderr = new PassThrough();
  return {
    view: new DownloadView({ stderr: new Output(() => stderr) }, isShown),
    written: () => writtenText(stderr),
  };
}

it('DownloadView says on one line how far a download has got, and at the end where it came from', () => {
  const { view: shown, written } = view(true);
  shown.started('echo@1.0.0', 2 * mebibyte);
  shown.received('echo@1.0.0', 10);
  shown.received('echo@1.0.0', mebibyte);
  shown.ended('echo@1.0.0', { source: 'team', isStored: true });
  expect(written()).toBe(
    `fetching echo@1.0.0: 0.0 of 2.0 MiB${erased}fetching echo@1.0.0: 1.0 of 2.0 MiB${erased}fetched echo@1.0.0 from team\n`,
  );
  expect(shown.sourceOf('echo@1.0.0')).toBe('team');
});

it('DownloadView sums up several, without a total where one does not say how long it is', () => {
  const { view: shown, written } = view(true);
  shown.started('a@1', mebibyte);
  shown.started('b@1', null);
  shown.received('b@1', 3 * mebibyte);
  shown.ended('b@1', { source: 'team', isStored: false });
  expect(written()).toBe(
    `fetching a@1: 0.0 of 1.0 MiB${erased}fetching 2 archives: 0.0 MiB${erased}fetching 2 archives: 3.0 MiB${erased}fetching a@1: 0.0 of 1.0 MiB`,
  );
  expect(shown.sourceOf('b@1')).toBeUndefined();
});

it('DownloadView shows no control character of a name', () => {
  const { view: shown, written } = view(true);
  shown.started('a\u001B[2J.zip', null);
  shown.ended('a\u001B[2J.zip', { source: 'b\u0007', isStored: true });
  expect(written()).toBe(`fetching a\\u{1b}[2J.zip: 0.0 MiB${erased}fetched a\\u{1b}[2J.zip from b\\u{7}\n`);
});

it('DownloadView keeps other lines apart from the one that changes', () => {
  const { view: shown, written } = view(true);
  shown.started('a@1', mebibyte);
  shown.say('installed b@1');
  expect(written()).toBe(`fetching a@1: 0.0 of 1.0 MiB${erased}installed b@1\n`);
});

it('DownloadView is silent where nobody looks, and still knows the sources', () => {
  const { view: shown, written } = view(false);
  shown.started('a@1', mebibyte);
  shown.received('a@1', mebibyte);
  shown.say('installed b@1');
  shown.ended('a@1', { source: 'team', isStored: true });
  expect(written()).toBe('');
  expect(shown.sourceOf('a@1')).toBe('team');
});
