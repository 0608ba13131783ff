/** How a hint spells a command for the manifest that the user named: a text that can be copied into a shell. */

export const usualManifest = './svc.yaml';

/** The command with `--manifest`, unless it is the usual one. `manifest` is the path as the user gave it. */
export function commandWith(command: string, manifest: string): string {
  return manifest === usualManifest ? command : `${command} --manifest ${inShell(manifest)}`;
}

function inShell(word: string): string {
  return /^[\w./@%+,:=][\w./@%+,:=-]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
