import { describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { Doors } from './doors.ts';

const key = 'k'.repeat(43);
const own = { host: '127.0.0.1:4711' };

class Tried {
  readonly calls: string[] = [];
  nowMs = 0;
  readonly doors = new Doors({
    openKey: new Secret(key),
    onOpened: () => this.calls.push('opened'),
    onGuessed: () => this.calls.push('guessed'),
    nowMs: () => this.nowMs,
  });

  constructor() {
    this.doors.port = 4711;
  }

  /** The code of the refusal. */
  ask(headers: Readonly<Record<string, string>>, url = '/sessions', method = 'GET'): string | undefined {
    return this.doors.admit({ headers, url, method })?.code;
  }
}

describe('the doors of a page', () => {
  it.each([
    '127.0.0.1:4711',
    'localhost:4711',
    '[::1]:4711',
    'LOCALHOST:4711',
    'view.localhost:4711',
    '127.9.9.9:4711',
  ])('let in who asks for %s', (host) => {
    expect(new Tried().ask({ host })).toBeUndefined();
  });

  it.each([
    'example.com:4711',
    'localhost.example.com:4711',
    '127.0.0.1.example.com:4711',
    '127.0.0.1:4712',
    '127.0.0.1',
    'localhost',
    '127.0.0.1:04711x',
    '10.0.0.1:4711',
    '',
  ])('refuse who asks for %j', (host) => {
    expect(new Tried().ask({ host })).toBe('host_refused');
  });

  it('refuse who does not say for whom', () => {
    expect(new Tried().ask({})).toBe('host_refused');
  });

  it.each([
    'http://127.0.0.1:4712',
    'https://127.0.0.1:4711',
    'http://localhost:4711',
    'http://evil.example',
    'null',
    '',
  ])('refuse a page of the origin %j', (origin) => {
    expect(new Tried().ask({ ...own, origin })).toBe('page_refused');
  });

  it('let in their own page', () => {
    const tried = new Tried();
    expect(tried.ask({ ...own, origin: 'http://127.0.0.1:4711', 'sec-fetch-site': 'same-origin' })).toBeUndefined();
    expect(tried.ask({ host: 'LocalHost:4711', origin: 'http://localhost:4711' })).toBeUndefined();
    expect(tried.ask({ ...own, 'sec-fetch-site': 'none' })).toBeUndefined();
    expect(tried.ask({ ...own, 'sec-fetch-mode': 'cors' })).toBeUndefined();
    expect(tried.ask({ ...own, 'sec-fetch-dest': 'image' })).toBe('page_refused');
  });

  it.each(['cross-site', 'same-site', 'other', ''])('refuse what a browser says is of %j', (site) => {
    expect(new Tried().ask({ ...own, 'sec-fetch-site': site })).toBe('page_refused');
  });

  const navigation = {
    ...own,
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };

  it('let a file of this machine open the page once, by its key', () => {
    const tried = new Tried();
    expect(tried.ask(navigation, '/')).toBe('page_refused');
    expect(tried.ask(navigation, `/?open=${'x'.repeat(43)}`)).toBe('page_refused');
    expect(tried.ask(navigation, '/?open=short')).toBe('page_refused');
    expect(tried.ask(navigation, `/sessions?open=${key}`)).toBe('page_refused');
    expect(tried.ask(navigation, `/?open=${key}`, 'POST')).toBe('page_refused');
    expect(tried.ask({ ...navigation, 'sec-fetch-dest': 'iframe' }, `/?open=${key}`)).toBe('page_refused');
    expect(tried.ask({ ...navigation, 'sec-fetch-mode': 'no-cors' }, `/?open=${key}`)).toBe('page_refused');
    expect(tried.calls).toEqual([]);
    expect(tried.ask(navigation, `/?open=${key}`)).toBeUndefined();
    expect(tried.calls).toEqual(['opened']);
    expect(tried.ask(navigation, `/?open=${key}`)).toBe('page_refused');
  });

  it('close after the fifth wrong token', () => {
    const tried = new Tried();
    for (const token of ['a', 'b', 'c', 'd']) tried.doors.wrongToken(token);
    expect(tried.calls).toEqual([]);
    tried.doors.wrongToken('e');
    tried.doors.wrongToken('f');
    expect(tried.calls).toEqual(['guessed']);
  });

  it('do not close for a page of an earlier server, which shows its token again and again', () => {
    const tried = new Tried();
    for (let count = 0; count < 100; count += 1) tried.doors.wrongToken('of an earlier server');
    expect(tried.calls).toEqual([]);
  });

  it('let in 500 requests a second', () => {
    const tried = new Tried();
    const ask = (): (string | undefined)[] => Array.from({ length: 502 }, () => tried.ask(own));
    expect(ask().filter((code) => code === 'busy')).toHaveLength(2);
    tried.nowMs = 999;
    expect(tried.ask(own)).toBe('busy');
    tried.nowMs = 1000;
    expect(tried.ask(own)).toBeUndefined();
  });

  it('let in as many with the token, however many come without it', () => {
    const tried = new Tried();
    for (let count = 0; count < 600; count += 1) tried.ask(own);
    expect(tried.doors.admit({ headers: own, method: 'GET', url: '/' }, true)).toBeUndefined();
    expect(tried.ask(own)).toBe('busy');
  });

  it.each([
    { ...own, 'sec-fetch-site': 'cross-site' },
    { ...own, origin: 'http://evil.example' },
    { host: 'example.com:4711' },
  ])('stay open beside a foreign page that asks all the time', (headers) => {
    const tried = new Tried();
    const floods = Array.from({ length: 1000 }, () => tried.ask(headers));
    expect(new Set(floods)).toEqual(new Set([headers.host === own.host ? 'page_refused' : 'host_refused']));
    expect(tried.ask(own)).toBeUndefined();
  });
});
