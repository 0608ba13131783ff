/** Splits SKILL.md into its head and the text behind it, and reads neither. */

/** The YAML of the head, whose lines have their numbers in the file, and the text without the line ends around it; null for a file without a head. */
export function splitSkill(whole: string): { readonly head: string; readonly text: string } | null {
  const lines = whole.replace(/^\uFEFF/, '').split('\n');
  const isBar = (line: string): boolean => /^---[ \t]*\r?$/.test(line);
  const end = isBar(lines[0] ?? '') ? lines.findIndex((line, index) => index > 0 && isBar(line)) : -1;
  if (end < 0) return null;
  // An empty line in the place of the first bar keeps the numbers.
  const text = lines.slice(end + 1).join('\n');
  return { head: ['', ...lines.slice(1, end)].join('\n'), text: text.trim() };
}
