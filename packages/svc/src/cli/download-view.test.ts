import { PassThrough } from 'node:stream';

import { expect, it } from 'vitest';

import { writtenText } from '../../../../test/support/written-text.ts';
import { DownloadView } from './download-view.ts';
import { Output } from './terminal/output.ts';

const mebibyte = 1024 * 1024;
const erased = '\r\u001B[2K';

function view(isShown: boolean): { readonly view: DownloadView; readonly written: () => string } {
  const stderr = new PassThrough();
  return {
    view: new DownloadView({ stderr: new Output(() => stderr) }, isShown),
    written: () => writtenText(stderr),
  };
}

it('tells on one line how far a download has got, and at the end where it came from', () => {
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

it('sums up several, without a total where one does not say how long it is', () => {
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

it('shows no control character of a name', () => {
  const { view: shown, written } = view(true);
  shown.started('a\u001B[2J.zip', null);
  shown.ended('a\u001B[2J.zip', { source: 'b\u0007', isStored: true });
  expect(written()).toBe(`fetching a\\u{1b}[2J.zip: 0.0 MiB${erased}fetched a\\u{1b}[2J.zip from b\\u{7}\n`);
});

it('keeps other lines apart from the one that changes', () => {
  const { view: shown, written } = view(true);
  shown.started('a@1', mebibyte);
  shown.say('installed b@1');
  expect(written()).toBe(`fetching a@1: 0.0 of 1.0 MiB${erased}installed b@1\n`);
});

it('is silent where nobody looks, and still knows the sources', () => {
  const { view: shown, written } = view(false);
  shown.started('a@1', mebibyte);
  shown.received('a@1', mebibyte);
  shown.say('installed b@1');
  shown.ended('a@1', { source: 'team', isStored: true });
  expect(written()).toBe('');
  expect(shown.sourceOf('a@1')).toBe('team');
});
