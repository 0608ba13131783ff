/** What the address of the page says: which session, which tab, which step. The token leaves it as soon as the page is loaded. */

import { Cell } from '../store/cell.ts';
import { type Tab, tabs } from '../store/view.ts';

export interface Address {
  /** Is null for the list of sessions. */
  readonly session: string | null;
  readonly tab: Tab;
  /** An event id; null without one. */
  readonly step: string | null;
}

/** What a fragment says; anything odd in it counts as absent. */
export function parseFragment(fragment: string): Address & { readonly token: string | null } {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const token = given.get('token');
  const session = given.get('session');
  const step = given.get('s');
  return {
    session: session === null || session === '' || session.length > 4096 ? null : session,
    tab: tabs.find((tab) => tab === given.get('tab')) ?? 'steps',
    step: step !== null && /^[\w-]{1,128}$/.test(step) ? step : null,
    token: token !== null && /^[\w-]{43}$/.test(token) ? token : null,
  };
}

export function encodeFragment({ session, tab, step }: Address): string {
  const fields = new URLSearchParams();
  if (session !== null) fields.set('session', session);
  if (session !== null && tab !== 'steps') fields.set('tab', tab);
  if (session !== null && step !== null) fields.set('s', step);
  const text = fields.toString();
  return text === '' ? '' : `#${text}`;
}

/** Where the page is. Changes of the address by hand, and by the browser's way back, come in here. */
export const address: Cell<Address> = new Cell<Address>({ session: null, tab: 'steps', step: null });

/** Where somebody has gone to: by the address at load, by hand, by the way back, or by a link of the page. */
export const arrival: Cell<Address> = new Cell(address.value);

function arrive(next: Address): void {
  address.value = next;
  arrival.value = next;
}

/** What the token is kept under for this tab alone, until the tab is closed. */
const kept = 'svc-token';

/** Reads the address, and takes the token out of it: a page that is loaded again has it from its tab. Returns null where neither has one. */
export function takeAddress(): string | null {
  const { token: given, ...rest } = parseFragment(location.hash);
  arrive(rest);
  history.replaceState(null, '', withoutFragment() + encodeFragment(rest));
  addEventListener('hashchange', () => {
    const { token: _token, ...next } = parseFragment(location.hash);
    arrive(next);
  });
  return inTab(given);
}

/** Keeps a token that the address has, and returns the one that is kept. */
function inTab(token: string | null): string | null {
  try {
    if (token !== null) sessionStorage.setItem(kept, token);
    return sessionStorage.getItem(kept);
  } catch (error) {
    // A browser that keeps nothing: a page that is loaded again needs the printed address.
    if (!(error instanceof DOMException)) throw error;
    return token;
  }
}

/** Goes somewhere else: the way back leads here again. */
export function goTo(next: Address): void {
  history.pushState(null, '', withoutFragment() + encodeFragment(next));
  arrive(next);
}

/** Says where in a session the page is; the way back does not hold each step. */
export function stayAt(next: Address): void {
  const wanted = encodeFragment(next);
  if (wanted !== encodeFragment(address.value)) history.replaceState(null, '', withoutFragment() + wanted);
  address.value = next;
}

/** The whole address of a place, for somebody with the same page. */
export function linkTo(place: Address): string {
  return location.origin === 'null'
    ? location.href.replace(/#.*$/, '') + encodeFragment(place)
    : new URL(withoutFragment() + encodeFragment(place), location.href).href;
}

function withoutFragment(): string {
  return location.pathname;
}
