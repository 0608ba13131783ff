/** What keys do anywhere in the page of a session. */

import { tabs, type View } from '../store/view.ts';
import { isDrawn } from './drawn-markdown.tsx';
import { pan, zoom } from './timeline.tsx';
import { placeOf, stepsId } from './steps.tsx';
import { moved } from './virtual-list.tsx';

/** All of it, for the list that `?` shows. */
export const keyList: readonly (readonly [keys: string, what: string])[] = [
  ['↑ ↓ PgUp PgDn Home End', 'move through the steps'],
  ['Enter', 'open the chosen step'],
  ['Esc', 'close what is open, then show everything'],
  ['/', 'search'],
  ['e', 'failed steps only'],
  ['[ ]', 'previous task, next task'],
  ['1 – 5', 'tabs'],
  ['m', 'Markdown of the model drawn, or as it is written'],
  ['+ − 0', 'zoom in, out, all of the session'],
  ['Shift ← →', 'earlier, later'],
  ['?', 'this list'],
];

/** Returns what ends it. */
export function listenToKeys(view: View): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const { key, target } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    // Nothing moves behind it.
    if (document.querySelector('dialog[open]') !== null && key !== '?') return;
    if (target instanceof HTMLElement && target.matches('input, textarea, select')) {
      if (key === 'Escape') target.blur();
      return;
    }
    const action = actionOf(key, event.shiftKey, view);
    if (action === null) return;
    event.preventDefault();
    action();
  };
  addEventListener('keydown', onKey);
  return () => removeEventListener('keydown', onKey);
}

function actionOf(key: string, isShift: boolean, view: View): (() => void) | null {
  const tab = tabs[Number(key) - 1];
  if (tab !== undefined) return () => void (view.tab.value = tab);
  switch (key) {
    case '/':
      return () => {
        view.tab.value = 'steps';
        setTimeout(() => document.getElementById('search')?.focus());
      };
    case 'e':
      return () => {
        view.onlyFailed.value = view.tab.value !== 'steps' || !view.onlyFailed.value;
        view.tab.value = 'steps';
      };
    case 'm':
      return () => void (isDrawn.value = !isDrawn.value);
    case '[':
      return () => nextTask(view, -1);
    case ']':
      return () => nextTask(view, 1);
    case '+':
    case '=':
      return () => zoom(view, 0.64);
    case '-':
    case '−':
      return () => zoom(view, 1 / 0.64);
    case '0':
      return () => void (view.range.value = null);
    case '?':
      return () => void (view.areKeysShown.value = !view.areKeysShown.value);
    case 'Escape':
      return () => {
        if (view.closeOver()) return;
        if (view.selected.value !== -1 || view.isPanelOpen.value) view.select(-1);
        else view.reset();
      };
    case 'ArrowLeft':
    case 'ArrowRight':
      return isShift ? () => pan(view, key === 'ArrowLeft' ? -0.25 : 0.25) : null;
    default:
      return isOnPage() ? moveOf(key, view) : null;
  }
}

/** Nothing else that goes up and down has the keyboard. */
function isOnPage(): boolean {
  return document.activeElement?.matches('body, [role=tab]') !== false;
}

function moveOf(key: string, view: View): (() => void) | null {
  if (view.tab.value !== 'steps') return null;
  const rows = view.shown;
  const active = placeOf(rows, view.selected.value);
  if (key === 'Enter') return active === -1 ? null : () => void (view.isPanelOpen.value = true);
  const next = moved(key, active, rows.length, 20);
  if (next === null) return null;
  return () => {
    view.selected.value = rows[next] ?? -1;
    document.getElementById(stepsId)?.focus();
  };
}

function nextTask(view: View, by: number): void {
  const { length } = view.session.tasks.value;
  if (length === 0) return;
  const now = view.onlyTask.value;
  const next = now === -1 ? (by > 0 ? 0 : length - 1) : Math.max(0, Math.min(length - 1, now + by));
  if (next !== now) view.pickTask(next);
}
