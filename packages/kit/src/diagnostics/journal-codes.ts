/** The codes of journals and of svc trace. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** Codes of what writes a journal and of what reads one; a part of the catalogue. */
export const journalCodes = {
  'E-IO-006': {
    title: 'the journal cannot be written',
    explanation:
      'A session never goes on with a journal that lacks something. The disk is full, read-only or failing; the message gives the reason.',
  },
  'E-RUN-072': {
    title: 'the folder of a session holds what svc did not put there',
    explanation:
      'A session folder and its journal belong to the user who ran the session, and hold no links. What is a link, or belongs to another user, could be anything: it is not read, and nothing is removed through it.',
  },
  'E-RUN-073': {
    title: 'a journal is damaged',
    explanation:
      'Each line of a journal has a number and a chain over the line before. The message names the first record and byte that do not fit: the file was changed or cut, or was written by another version of svc. svc trace steps shows what is before that place.',
  },
  'W-RUN-061': {
    title: 'a journal is full',
    explanation:
      'The journal of the session has reached trace.max_bytes. From there on it keeps hashes and sizes of texts and not the texts: two sessions can still be compared, but this one cannot be run again beyond that point.',
  },
} as const satisfies Record<string, CatalogueEntry>;
