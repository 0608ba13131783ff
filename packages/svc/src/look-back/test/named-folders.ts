/** Finds folders of this machine that a recording names, before somebody else gets to read it. */

import type { HistoryEvent } from '@svc/session/recorder/recorder.ts';
import type { WholeRecording } from './recorded-test.ts';

/** Where a recording names a folder. `step` counts from 1; 0 is before the first one. */
export interface NamedFolder {
  readonly folder: string;
  readonly step: number;
}

/** The first of the folders that the recording names as a path, and where it first does; null when it names none. */
export function namedFolder(
  { recording: { historyEvents }, setup }: WholeRecording,
  folders: readonly string[],
): NamedFolder | null {
  for (const folder of folders) {
    const search = new FolderSearch(folder);
    const first = historyEvents.find((historyEvent) => search.isIn(historyEvent));
    if (first === undefined && !search.isIn(setup)) continue;
    const starts = historyEvents.filter(({ kind }) => kind === 'start');
    return {
      folder,
      step: first === undefined ? 0 : starts.findIndex((start) => placeOf(start) === placeOf(first)) + 1,
    };
  }
  return null;
}

function placeOf(historyEvent: HistoryEvent): string | null {
  return 'place' in historyEvent ? historyEvent.place : null;
}

/** Looks for one folder. Each request repeats the messages of those before it, as the same objects: each is searched once. */
class FolderSearch {
  readonly #folder: string;
  readonly #searched = new WeakMap<object, boolean>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  isIn(value: unknown): boolean {
    if (typeof value === 'string') return this.#isNamedBy(value);
    if (typeof value !== 'object' || value === null) return false;
    const known = this.#searched.get(value);
    if (known !== undefined) return known;
    const found = Array.isArray(value)
      ? value.some((each) => this.isIn(each))
      : Object.entries(value).some(([key, each]) => this.isIn(key) || this.isIn(each));
    this.#searched.set(value, found);
    return found;
  }

  /** As a path, not as the beginning or the end of a longer name. */
  #isNamedBy(text: string): boolean {
    const folder = this.#folder;
    for (let at = text.indexOf(folder); at !== -1; at = text.indexOf(folder, at + 1)) {
      if (!/[\w.-]/.test(text[at + folder.length] ?? '') && !/[\w.-]/.test(text[at - 1] ?? '')) return true;
    }
    return false;
  }
}
