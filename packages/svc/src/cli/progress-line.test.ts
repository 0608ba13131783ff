import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { writtenText } from '../../../../test/support/written-text.ts';
import { DownloadView } from './download-view.ts';
import { inMebibytes, ProgressLine } from './progress-line.ts';
import { Output } from './terminal/output.ts';

describe('a line of progress', () => {
  it('is written over, and only when it changes', () => {
    const stderr = new PassThrough();
    const line = new ProgressLine({ stderr: new Output(() => stderr) }, true);
    line.show('one');
    line.show('one');
    line.show('two');
    line.say('a word');
    line.show('');
    expect(writtenText(stderr)).toBe('one\r\u001B[2Ktwo\r\u001B[2Ka word\n');
  });

  it('is silent where there is no terminal, and shows no control characters of others', () => {
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
  it('tells how far one has got or how far all have, and what is there', () => {
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
