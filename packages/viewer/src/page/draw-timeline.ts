/** Draws the two canvases of the timeline. Colours are those of the page. */

import { busyLanes } from '../store/busy-lanes.ts';
import type { View } from '../store/view.ts';
import { axisTime } from '../text/words.ts';
import { lanes, laneOfKind, wentWrong } from '../trace/kinds.ts';
import { isPlain } from '../text/odd-characters.ts';
import { theme } from './theme.ts';

export const [labelWidth, laneHeight, laneTop] = [112, 20, 20];
const laneColours = ['--model', '--tool', '--command', '--child', '--wait'];
const axisPixels = 104;

/** A canvas with room for this many device pixels, and its context in pixels of the page. */
function prepared(
  canvas: HTMLCanvasElement,
): { readonly g: CanvasRenderingContext2D; readonly width: number; readonly height: number } | null {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width <= labelWidth || height === 0) return null;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const g = canvas.getContext('2d');
  if (g === null) return null;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return { g, width, height };
}

let colours = new Map<string, string>();
let coloursOf: unknown = null;

/** A colour of the page, read once a theme. */
function colour(name: string): string {
  if (coloursOf !== theme.value) {
    coloursOf = theme.value;
    colours = new Map();
  }
  const known = colours.get(name) ?? shadeOf(name);
  colours.set(name, known);
  return known;
}

/** As an element has it, since a variable may depend on the theme itself. */
function shadeOf(name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** The whole session, as far as it is known at rest. */
export function drawStrip(canvas: HTMLCanvasElement, { session, restedCount }: View): void {
  const made = prepared(canvas);
  if (made === null) return;
  const { g, width, height } = made;
  const { columns } = session;
  const pixels = Math.floor(width - labelWidth);
  const { busy, failed } = busyLanes(columns, restedCount.value, {
    from: 0,
    to: columns.end,
    pixels,
    task: -1,
    hidden: new Set(),
    barPixels: Infinity,
  });
  paintBusy(g, busy, { pixels, top: 3, each: (height - 10) / lanes.length, gap: 1 });
  paintFailed(g, failed, height - 4);
}

function paintFailed(g: CanvasRenderingContext2D, failed: Uint16Array, top: number): void {
  g.fillStyle = colour('--bad');
  for (const [column, count] of failed.entries()) if (count > 0) g.fillRect(labelWidth + column, top, 1.5, 3);
}

function paintBusy(
  g: CanvasRenderingContext2D,
  busy: Float32Array,
  {
    pixels,
    top,
    each,
    gap,
  }: { readonly pixels: number; readonly top: number; readonly each: number; readonly gap: number },
): void {
  for (let lane = 0; lane < lanes.length; lane += 1) {
    g.fillStyle = colour(laneColours[lane] ?? '--wait');
    for (let column = 0; column < pixels; column += 1) {
      const share = busy[lane * pixels + column] ?? 0;
      if (share <= 0) continue;
      g.globalAlpha = Math.min(1, 0.25 + share * 0.75);
      g.fillRect(labelWidth + column, top + lane * each + gap / 2, 1, each - gap);
    }
  }
  g.globalAlpha = 1;
}

export function drawLanes(canvas: HTMLCanvasElement, view: View): void {
  const made = prepared(canvas);
  if (made === null) return;
  const { g, width, height } = made;
  const { columns, count } = view.session;
  const [from, to] = view.range.value ?? [0, Math.max(1, columns.end)];
  const pixels = Math.floor(width - labelWidth);
  const scale = pixels / Math.max(1, to - from);
  paintAxis(g, { from, to, scale, width, height });
  const { busy, failed, bars } = busyLanes(columns, count.value, {
    from,
    to,
    pixels,
    task: view.onlyTask.value,
    hidden: view.hidden.value,
    barPixels: 3,
  });
  paintBusy(g, busy, { pixels, top: laneTop, each: laneHeight, gap: 8 });
  g.font = '11px Inter, system-ui, sans-serif';
  g.textBaseline = 'middle';
  for (const { row, lane, from: left, to: right } of bars) {
    const isWrong = (columns.flagsOf(row) & wentWrong) !== 0;
    const [x, y, wide] = [labelWidth + left, laneTop + lane * laneHeight + 3, Math.max(1.5, right - left - 1)];
    g.fillStyle = colour(isWrong ? '--bad' : (laneColours[lane] ?? '--wait'));
    g.beginPath();
    g.roundRect(x, y, wide, laneHeight - 6, 2);
    g.fill();
    if (wide > 30) paintName(g, columns.nameOf(row), { x: x + 5, y: y + (laneHeight - 6) / 2, room: wide - 10 });
  }
  paintFailed(g, failed, height - 4);
  paintSelected(g, view, { from, to, scale, height });
}

/** Only as much of a name as has room. One that could turn the letters around it is left out. */
function paintName(
  g: CanvasRenderingContext2D,
  name: string,
  { x, y, room }: { readonly x: number; readonly y: number; readonly room: number },
): void {
  if (!isPlain(name)) return;
  let shown = name.slice(0, Math.ceil(room / 4));
  while (shown.length > 1 && g.measureText(shown).width > room) shown = shown.slice(0, -1);
  if (shown.length < name.length) {
    if (shown.length < 5) return;
    shown = `${shown.slice(0, -1)}…`;
  }
  g.fillStyle = colour('--on-bar');
  g.fillText(shown, x, y + 0.5);
}

interface Axis {
  readonly from: number;
  readonly to: number;
  readonly scale: number;
  readonly width: number;
  readonly height: number;
}

function paintAxis(g: CanvasRenderingContext2D, { from, to, scale, width, height }: Axis): void {
  const step = niceStep(axisPixels / scale);
  g.font = '11px Inter, system-ui, sans-serif';
  g.textBaseline = 'middle';
  for (let time = Math.ceil(from / step) * step, marks = 0; time <= to && marks < 100; time += step, marks += 1) {
    const x = Math.round(labelWidth + (time - from) * scale) + 0.5;
    g.fillStyle = colour('--line');
    g.fillRect(x - 0.5, 0, 1, height);
    const text = axisTime(time, step);
    g.fillStyle = colour('--faint');
    if (x + 6 + g.measureText(text).width < width) g.fillText(text, x + 5, 10);
  }
}

const seconds = 1000;
const hours = 3600 * seconds;
const niceSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800].map((each) => each * seconds),
  [1, 2, 4, 6, 12, 24, 48, 96, 240, 480, 960, 2400, 4800, 8760].map((each) => each * hours),
);

/** The first step of an axis that is not less than this many milliseconds. */
function niceStep(least: number): number {
  return niceSteps.find((step) => step >= least) ?? 10 ** Math.ceil(Math.log10(least));
}

function paintSelected(
  g: CanvasRenderingContext2D,
  view: View,
  { from, to, scale, height }: Omit<Axis, 'width'>,
): void {
  const { value: row } = view.selected;
  if (row === -1) return;
  const { columns } = view.session;
  const [start, end] = [columns.startOf(row), columns.startOf(row) + columns.durationOf(row)];
  if (end < from || start > to) return;
  g.fillStyle = colour('--text');
  g.fillRect(Math.round(labelWidth + (Math.max(from, start) - from) * scale) - 1, laneTop - 4, 1.5, height);
  const lane = laneOfKind[columns.kindOf(row)] ?? -1;
  if (lane === -1 || start === end) return;
  const left = labelWidth + Math.max(0, (start - from) * scale);
  g.strokeStyle = colour('--text');
  g.lineWidth = 1.5;
  g.strokeRect(
    left - 1.5,
    laneTop + lane * laneHeight + 1.5,
    Math.max(3, (Math.min(end, to) - Math.max(start, from)) * scale) + 2,
    laneHeight - 3,
  );
}
