/** Dark and light: as the system says, until a person says otherwise. */

import { Cell } from '../store/cell.ts';

const [dark, strong] = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)'];

/** Another value whenever the colours of the page change. */
export const theme: Cell<{ readonly isDark: boolean }> = new Cell({ isDark: false });

/** Follows the system, and contrast with it. */
export function followSystem(): void {
  tell();
  for (const query of [dark, strong]) matchMedia(query).addEventListener('change', tell);
}

export function toggleTheme(): void {
  document.documentElement.dataset['theme'] = theme.value.isDark ? 'light' : 'dark';
  tell();
}

function tell(): void {
  const chosen = document.documentElement.dataset['theme'];
  theme.value = { isDark: chosen === undefined ? matchMedia(dark).matches : chosen === 'dark' };
}
