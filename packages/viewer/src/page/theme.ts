/** Dark and light: as the system says, until a person says otherwise. */

import { Cell } from '../store/cell.ts';

/** Changes whenever the colours of the page do. */
export const theme: Cell<string> = new Cell('light');

const dark = '(prefers-color-scheme: dark)';

/** Follows the system, and contrast with it. */
export function followSystem(): void {
  const tell = (): void =>
    void (theme.value = `${isDark() ? 'dark' : 'light'} ${matchMedia('(prefers-contrast: more)').matches}`);
  tell();
  for (const query of [dark, '(prefers-contrast: more)']) matchMedia(query).addEventListener('change', tell);
}

export function isDark(): boolean {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === undefined ? matchMedia(dark).matches : chosen === 'dark';
}

export function toggleTheme(): void {
  document.documentElement.dataset['theme'] = isDark() ? 'light' : 'dark';
  theme.value = document.documentElement.dataset['theme'];
}
