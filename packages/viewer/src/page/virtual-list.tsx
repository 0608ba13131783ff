/** A list of any length; only the rows in sight are in the document. */

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  /** On a page as narrow as a phone, where rows have two lines. */
  readonly narrowRowHeight?: number;
  /** What a screen reader calls it. */
  readonly label: string;
  readonly id: string;
  /** The place of the chosen row; -1 without one. */
  readonly active: number;
  /** Stays at the end while rows are added there, if it was there. */
  readonly isGrowing: boolean;
  /** What stands over the columns, with the classes of each that has any; `layout` is the class that lays them out. */
  readonly columns: readonly (readonly [text: string, classes?: string])[];
  readonly layout: string;
  /** Receives which rows are in sight; makes each of them. */
  readonly rows: (first: number, last: number) => (index: number, attributes: RowAttributes) => JSX.Element;
  readonly onMove: (index: number) => void;
  readonly onOpen: () => void;
}

/** What each row element has to carry. */
export interface RowAttributes {
  readonly id: string;
  readonly role: 'row';
  readonly 'aria-rowindex': number;
  readonly 'aria-selected': boolean;
}

/** Beyond this, browsers make no element taller: the bar then stands for more rows than it has room for. */
const tallest = 16_000_000;
const around = 4;
/** The head stays in sight above the rows. */
const headHeight = 28;
/** As page.css says. */
const isNarrow = (): boolean => matchMedia('(max-width: 520px)').matches;

export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, label, id, active, isGrowing, columns, layout, onMove, onOpen } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [view, setView] = useState(600);
  const [narrow, setNarrow] = useState(isNarrow);
  const rowHeight = (narrow && props.narrowRowHeight) || props.rowHeight;
  const shownHeight = useRef(rowHeight);
  const wasAtEnd = useRef(false);
  const full = count * rowHeight;
  const height = Math.min(full, tallest);
  const scale = full > tallest ? (full - view) / (tallest - view) : 1;
  const virtualTop = Math.max(0, Math.min(top * scale, full - view));
  const first = Math.max(0, Math.floor(virtualTop / rowHeight) - around);
  const last = Math.min(count, Math.ceil((virtualTop + view) / rowHeight) + around);

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => {
      if (box.current === null) return;
      setView(box.current.clientHeight - headHeight);
      setNarrow(isNarrow);
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    // A phone was turned: the same rows stay in sight.
    if (box.current !== null) box.current.scrollTop = (top * rowHeight) / shownHeight.current;
    shownHeight.current = rowHeight;
  }, [rowHeight]);

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return;
    if (isGrowing && wasAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [count]);

  useLayoutEffect(() => {
    const { current } = box;
    if (current === null || active < 0) return;
    const at = active * rowHeight;
    const seen = current.scrollTop * scale;
    const isFar = at < seen - rowHeight || at > seen + view;
    if (isFar) current.scrollTop = Math.max(0, at - (view - rowHeight) / 2) / scale;
    else if (at < seen) current.scrollTop = at / scale;
    else if (at + rowHeight > seen + view) current.scrollTop = (at + rowHeight - view) / scale;
  }, [active]);

  const row = props.rows(first, last);
  const rows: JSX.Element[] = [];
  for (let index = first; index < last; index += 1) {
    rows.push(
      row(index, {
        id: `${id}-${index}`,
        role: 'row',
        'aria-rowindex': index + 2,
        'aria-selected': index === active,
      }),
    );
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key === 'Enter' && active >= 0) {
      event.preventDefault();
      onOpen();
      return;
    }
    const next = moved(event.key, active, count, Math.max(1, Math.floor(view / rowHeight) - 1));
    if (next === null) return;
    event.preventDefault();
    onMove(next);
  };

  return (
    <div
      class="list"
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-activedescendant={active >= first && active < last ? `${id}-${active}` : undefined}
      id={id}
      tabIndex={0}
      ref={box}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        wasAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
        setTop(scrollTop);
      }}
    >
      <div class={`list-head ${layout}`} role="row" aria-rowindex={1}>
        {columns.map(([text, classes = '']) => (
          <span role="columnheader" class={classes}>
            {text}
          </span>
        ))}
      </div>
      <div class="list-all" role="rowgroup" style={{ height: `${height}px` }}>
        <div
          class="list-rows"
          role="presentation"
          style={{
            transform: `translateY(${scale === 1 ? first * rowHeight : top + first * rowHeight - virtualTop}px)`,
          }}
        >
          {rows}
        </div>
      </div>
    </div>
  );
}

/** Where a key leads to in a list; null for a key that leads nowhere. */
export function moved(key: string, active: number, count: number, page: number): number | null {
  if (count === 0) return null;
  const to = (index: number): number => Math.max(0, Math.min(count - 1, index));
  switch (key) {
    case 'ArrowDown':
      return to(active + 1);
    case 'ArrowUp':
      return to(active === -1 ? 0 : active - 1);
    case 'PageDown':
      return to(active + page);
    case 'PageUp':
      return to(active - page);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
