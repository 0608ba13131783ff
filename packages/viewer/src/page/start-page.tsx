/** Starts the page: takes the token, finds out where its sessions are, and draws. */

import { render } from 'preact';

import { HeldSource, ServedSource } from '../store/source.ts';
import { takeAddress } from './address.ts';
import { App } from './app.tsx';
import { followCells } from './follow-cells.ts';
import { followSystem } from './theme.ts';
import { makeWorkers } from './workers.ts';

export function startPage(): void {
  const app = document.getElementById('app');
  if (app === null) return;
  const token = takeAddress();
  const makeWorker = makeWorkers(document.querySelector('script[type="module"]')?.textContent ?? '');
  followSystem();
  followCells();
  if (textOf('svc-facts') !== null) {
    render(<App source={new HeldSource(textOf)} makeWorker={makeWorker} />, app);
    return;
  }
  const source = token === null ? null : new ServedSource(new URL('/', location.href).href, token);
  render(<App source={source} makeWorker={makeWorker} />, app);
}

/** What an element of an exported page holds. */
function textOf(id: string): string | null {
  return document.getElementById(id)?.textContent ?? null;
}
