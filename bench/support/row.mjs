// @ts-check
// Says what a row of the table is, and renders the table.

/**
 * One line of the table. `measure` rejects when the subject or the floor cannot run.
 * @typedef {{ name: string, goal: Goal, unit: 'times' | 'ms' | 'µs' | 'KB', measure(): Promise<Measured> }} Row
 * @typedef {{ atMost: number } | { atLeast: number }} Goal
 * @typedef {{ subject: string, floor: string, figure: number }} Measured `subject` and `floor` are for the reader, `figure` is held against the goal.
 */

/**
 * @param {Goal} goal
 * @param {number} figure
 */
export function meets(goal, figure) {
  return 'atMost' in goal ? figure <= goal.atMost : figure >= goal.atLeast;
}

/** @param {readonly (readonly string[])[]} lines The first is the head. */
export function renderTable(lines) {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
