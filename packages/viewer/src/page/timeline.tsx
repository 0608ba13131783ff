/** The timeline: the whole session as a strip with a brush, and below it the lanes of the part that the brush holds. */

import type { JSX, TargetedPointerEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { rowAt } from '../store/busy-lanes.ts';
import { watch } from '../store/cell.ts';
import type { Span, View } from '../store/view.ts';
import { duration } from '../text/words.ts';
import { lanes } from '../trace/kinds.ts';
import { drawLanes, drawStrip, labelWidth, laneHeight, laneTop } from './draw-timeline.ts';

const zoomStep = 1.25;

export function Timeline({ view }: { readonly view: View }): JSX.Element {
  const strip = useRef<HTMLCanvasElement>(null);
  const main = useRef<HTMLCanvasElement>(null);
  const { range, hidden } = view;

  useEffect(() => {
    const [over, under] = [strip.current, main.current];
    if (over === null || under === null) return undefined;
    const stopStrip = redrawn(over, () => drawStrip(over, view));
    const stopLanes = redrawn(under, () => drawLanes(under, view));
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      const box = under.getBoundingClientRect();
      const share = (event.clientX - box.left - labelWidth) / Math.max(1, box.width - labelWidth);
      if (sideways !== 0) pan(view, sideways / Math.max(1, box.width));
      else zoom(view, zoomStep ** Math.sign(event.deltaY), Math.max(0, Math.min(1, share)));
    };
    under.addEventListener('wheel', onWheel, { passive: false });
    return () => {
      stopStrip();
      stopLanes();
      under.removeEventListener('wheel', onWheel);
    };
  }, [view]);

  return (
    <section class="timeline" aria-label="Timeline">
      <div class="strip-label" aria-hidden="true">
        Whole session
      </div>
      <canvas
        class="strip"
        ref={strip}
        aria-hidden="true"
        onPointerDown={(event) => brush(event, view)}
        onDblClick={() => void (range.value = null)}
      />
      <Brush view={view} />
      <canvas class="lanes-canvas" ref={main} aria-hidden="true" onPointerDown={(event) => drag(event, view)} />
      <div class="lane-labels" role="group" aria-label="Lanes" style={{ top: `${40 + laneTop}px` }}>
        {lanes.map((name, lane) => (
          <button
            class={`lane-label lane${lane}`}
            style={{ height: `${laneHeight}px` }}
            aria-pressed={!hidden.value.has(lane)}
            onClick={() => view.toggleLane(lane)}
          >
            <i />
            {name}
          </button>
        ))}
      </div>
      <ZoomKeys view={view} />
    </section>
  );
}

/** Draws, and again within a frame of each change of what was drawn, or of the size of the canvas. Returns what ends it. */
function redrawn(canvas: HTMLCanvasElement, draw: () => void): () => void {
  let frame = 0;
  let stop = (): void => {};
  const soon = (): void => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      stop();
      ({ stop } = watch(draw, soon));
    });
  };
  soon();
  const observer = new ResizeObserver(soon);
  observer.observe(canvas);
  return () => {
    stop();
    observer.disconnect();
    cancelAnimationFrame(frame);
  };
}

/** What the brush holds; all beside it lies under a veil. */
function Brush({ view: { range, restedCount, session } }: { readonly view: View }): JSX.Element | null {
  if (range.value === null || restedCount.value === 0) return null;
  const [from, to] = range.value.map((time) => (100 * time) / session.columns.end) as [number, number];
  return (
    <div class="brush">
      <i style={{ left: `${from}%`, width: `${to - from}%` }} />
    </div>
  );
}

/** The same as the wheel and the brush, for who has neither. */
function ZoomKeys({ view }: { readonly view: View }): JSX.Element {
  const { range } = view;
  const shown = range.value;
  const text = shown === null ? 'all of the session' : `${duration(shown[0])} to ${duration(shown[1])}`;
  return (
    <div class="zoom" role="group" aria-label="Part of time">
      <button aria-label="Earlier" title="Earlier (Shift+←)" disabled={shown === null} onClick={() => pan(view, -0.25)}>
        ‹
      </button>
      <button aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(view, 1 / zoomStep ** 2)}>
        +
      </button>
      <button
        aria-label="Zoom out"
        title="Zoom out (−)"
        disabled={shown === null}
        onClick={() => zoom(view, zoomStep ** 2)}
      >
        −
      </button>
      <button
        aria-label="All of the session"
        title="All of the session (0)"
        disabled={shown === null}
        onClick={() => void (range.value = null)}
      >
        ⤢
      </button>
      <button aria-label="Later" title="Later (Shift+→)" disabled={shown === null} onClick={() => pan(view, 0.25)}>
        ›
      </button>
      <span class="off">{text}</span>
    </div>
  );
}

/** Makes the part of time that is shown longer or shorter, around a point of it from 0 to 1. */
export function zoom(view: View, factor: number, around = 0.5): void {
  const { end } = view.session.columns;
  const [from, to] = view.range.value ?? [0, end];
  const length = Math.max(1, (to - from) * factor);
  if (length >= end) {
    view.range.value = null;
    return;
  }
  const start = Math.max(0, Math.min(end - length, from + (to - from) * around - length * around));
  view.range.value = [start, start + length];
}

/** Moves the part of time that is shown by a share of its length. */
export function pan(view: View, share: number): void {
  const { end } = view.session.columns;
  const { value } = view.range;
  if (value === null) return;
  const length = value[1] - value[0];
  const start = Math.max(0, Math.min(end - length, value[0] + length * share));
  view.range.value = [start, start + length];
}

type Pressed = TargetedPointerEvent<HTMLCanvasElement>;

function brush(event: Pressed, view: View): void {
  const { currentTarget: canvas, pointerId } = event;
  if (event.button !== 0) return;
  canvas.setPointerCapture(pointerId);
  const { end } = view.session.columns;
  const timeAt = (x: number): number => {
    const box = canvas.getBoundingClientRect();
    return Math.max(0, Math.min(1, (x - box.left - labelWidth) / Math.max(1, box.width - labelWidth))) * end;
  };
  const start = timeAt(event.clientX);
  const onMove = ({ clientX }: PointerEvent): void => {
    const now = timeAt(clientX);
    const span: Span = [Math.min(start, now), Math.max(start, now)];
    if (span[1] - span[0] > end / 400) view.range.value = span;
  };
  held(canvas, onMove, () => {});
}

function drag(event: Pressed, view: View): void {
  const { currentTarget: canvas, pointerId, clientX: startX } = event;
  if (event.button !== 0) return;
  canvas.setPointerCapture(pointerId);
  const box = canvas.getBoundingClientRect();
  let lastX = startX;
  let hasMoved = false;
  const onMove = ({ clientX }: PointerEvent): void => {
    if (!hasMoved && Math.abs(clientX - startX) < 4) return;
    hasMoved = true;
    pan(view, (lastX - clientX) / Math.max(1, box.width - labelWidth));
    lastX = clientX;
  };
  held(canvas, onMove, ({ clientX, clientY }) => {
    if (hasMoved) return;
    const { columns, count } = view.session;
    const [from, to] = view.range.value ?? [0, columns.end];
    const row = rowAt(columns, count.value, {
      from,
      to,
      pixels: box.width - labelWidth,
      lane: Math.floor((clientY - box.top - laneTop) / laneHeight),
      pixel: clientX - box.left - labelWidth,
      task: view.onlyTask.value,
      hidden: view.hidden.value,
      barPixels: Infinity,
    });
    if (row !== -1) view.select(row);
  });
}

/** Until the button is let go. */
function held(
  canvas: HTMLCanvasElement,
  onMove: (event: PointerEvent) => void,
  onUp: (event: PointerEvent) => void,
): void {
  const holding = new AbortController();
  const { signal } = holding;
  const stop = (): void => holding.abort();
  canvas.addEventListener('pointermove', onMove, { signal });
  canvas.addEventListener('pointerup', onUp, { signal });
  canvas.addEventListener('pointerup', stop, { signal });
  canvas.addEventListener('pointercancel', stop, { signal });
}
