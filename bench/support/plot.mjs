// @ts-check
// Draws figures as lines, in one picture of SVG.

/**
 * `y` is in `unit`, at each `x` one point; both begin at zero.
 * @typedef {{ title: string, x: string, unit: string, points: readonly (readonly [x: number, y: number])[] }} Plot
 */

const columns = 3;
const cell = { width: 300, height: 210 };
const inner = { left: 52, top: 42, width: 228, height: 120 };
const foot = 24;

/**
 * @param {readonly Plot[]} plots
 * @param {string} note Stands below them.
 * @returns {string}
 */
export function drawPlots(plots, note) {
  const [width, height] = [columns * cell.width, Math.ceil(plots.length / columns) * cell.height + foot];
  const drawn = plots.map((plot, index) => {
    const [x, y] = [(index % columns) * cell.width, Math.floor(index / columns) * cell.height];
    return `<g transform="translate(${x} ${y})">\n${draw(plot).join('\n')}\n</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" role="img" aria-label="Cost as work grows">
<rect width="${width}" height="${height}" fill="#fff"/>
${drawn.join('\n')}
${text(note, inner.left, height - 8, 'fill="#666"')}
</svg>
`;
}

/** @param {Plot} plot */
function draw({ title, x, unit, points }) {
  const [mostX, mostY] = [most(points.map((point) => point[0])), most(points.map((point) => point[1]))];
  const across = (/** @type {number} */ value) => round(inner.left + (value / mostX) * inner.width);
  const up = (/** @type {number} */ value) => round(inner.top + inner.height - (value / mostY) * inner.height);
  const [right, bottom] = [inner.left + inner.width, inner.top + inner.height];
  const halves = [0, 0.5, 1];
  return [
    text(title, inner.left, 16, 'font-weight="bold" font-size="13"'),
    text(unit, inner.left, 32, 'fill="#666"'),
    ...halves.flatMap((part) => [
      `<path d="M${inner.left} ${up(part * mostY)}H${right}" stroke="#ddd"/>`,
      text(shown(part * mostY), inner.left - 6, up(part * mostY) + 4, 'text-anchor="end" fill="#666"'),
      text(shown(part * mostX), across(part * mostX), bottom + 15, 'text-anchor="middle" fill="#666"'),
    ]),
    text(x, inner.left + inner.width / 2, bottom + 30, 'text-anchor="middle"'),
    `<polyline points="${points.map((point) => `${across(point[0])},${up(point[1])}`).join(' ')}" fill="none" stroke="#1f6feb" stroke-width="2"/>`,
    ...points.map(
      (point) =>
        `<circle cx="${across(point[0])}" cy="${up(point[1])}" r="3" fill="#1f6feb"><title>${shown(point[0])}: ${shown(point[1])}</title></circle>`,
    ),
  ];
}

/**
 * The end of an axis: the next of 1, 2, 4, 6, 8 and 10 times a power of ten, so that its half is short as well.
 * @param {readonly number[]} values
 */
function most(values) {
  const largest = Math.max(...values) || 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return power * ([1, 2, 4, 6, 8].find((step) => largest <= step * power) ?? 10);
}

/** @param {number} value */
function shown(value) {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 });
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}

/**
 * @param {string} words
 * @param {number} x
 * @param {number} y
 * @param {string} attributes
 */
function text(words, x, y, attributes) {
  return `<text x="${x}" y="${y}" ${attributes}>${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;
}
