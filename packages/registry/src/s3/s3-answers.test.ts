import { describe, expect, it } from 'vitest';

import { parseErrorCode } from './s3-answers.ts';
import { parseListedPage } from './s3-listing.ts';

const entry = '<Contents><Key>a&amp;b&#43;&#x43;</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>';

describe('an answer of S3', () => {
  it('holds a page of names and times, and where the next one begins', () => {
    const head = '<?xml version="1.0"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">';
    const more = '<IsTruncated>true</IsTruncated><NextContinuationToken>a&lt;=</NextContinuationToken>';
    expect(parseListedPage(`${head}${more}${entry}</ListBucketResult>\n`)).toEqual({
      objects: [{ name: 'a&b+C', changedMs: Date.UTC(2026, 0, 2, 3, 4, 5) }],
      next: 'a<=',
    });
    expect(parseListedPage(`${head}<IsTruncated>false</IsTruncated></ListBucketResult>`)).toEqual({
      objects: [],
      next: null,
    });
  });

  it.each([
    '',
    '<html></html>',
    `<ListBucketResult>${entry}`,
    '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>',
    '<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>',
    `<ListBucketResult>${entry}<Contents></ListBucketResult>`,
  ])('holds no page: %j', (text) => {
    expect(parseListedPage(text)).toBe(null);
  });

  it('can be a refusal with a code, or without one', () => {
    expect(parseErrorCode('<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>')).toBe('SlowDown');
    for (const text of ['', '<html>no</html>', '<Error><Code>a b</Code></Error>'])
      expect(parseErrorCode(text)).toBe(null);
  });
});
