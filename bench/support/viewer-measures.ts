/** What is measured of the page of the viewer. What measures it knows a document, and is checked with the page. */

export interface Viewer {
  /** From the request of the page to its first rows on the screen, in milliseconds. */
  firstRows(): Promise<number>;
  /** To all of them. */
  allRows(): Promise<number>;
  /** The 95th percentile of 240 frames in which the list is scrolled, half of them far. */
  scrollFrame(): Promise<number>;
  /** The same of 120 frames in which the part of time changes. */
  zoomFrame(): Promise<number>;
  /** How far the page is behind 2,000 lines a second over 4 s, the 95th percentile. */
  behind(): Promise<number>;
  /** A frame of an empty page, the 95th percentile. */
  emptyFrame(): Promise<number>;
  close(): Promise<void>;
}

/** Rejects where there is no Chromium. `root` is that of the checkout. */
export type StartViewer = (wanted: { readonly root: string; readonly lines: number }) => Promise<Viewer>;
