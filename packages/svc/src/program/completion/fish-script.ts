/** Writes the completion script of fish. */

import type { TableOption, TableRow, ValueKind } from './command-table.ts';

/** A text of `svc` as one word of fish. */
function word(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}

/** Words of the line are only compared, and fish quotes what it inserts. */
export function fishScript(rows: readonly TableRow[]): string {
  const valued = rows.flatMap(({ path, options }) =>
    options.flatMap(({ names, value }) =>
      value === undefined || value.isOptional ? [] : names.map((name) => word(`${path} ${name}`.trim())),
    ),
  );
  return [
    `set -g __svc_paths ${rows
      .filter(({ path }) => path !== '')
      .map(({ path }) => word(path))
      .join(' ')}`,
    `set -g __svc_valued ${valued.join(' ')}`,
    functions,
    'complete -c svc -f',
    ...rows.flatMap((row) => linesOf(row, rows)),
  ].join('\n');
}

const functions = `function __svc_find --description 'Finds which command of svc the cursor is at, and how many arguments stand before it'
    set -g __svc_path ''
    set -g __svc_count 0
    set -g __svc_first ''
    set -l skip ''
    set -l only ''
    for token in (commandline -opc)[2..-1]
        if test -n "$skip"
            set skip ''
        else if test -z "$only" -a "$token" = --
            set only 1
        else if test -z "$only"; and string match -q -- '-?*' "$token"
            contains -- (string trim -- "$__svc_path $token") $__svc_valued; and set skip 1
        else if test -z "$only" -a $__svc_count = 0; and contains -- (string trim -- "$__svc_path $token") $__svc_paths
            set __svc_path (string trim -- "$__svc_path $token")
        else
            set __svc_count (math $__svc_count + 1)
            test $__svc_count = 1; and set __svc_first "$token"
        end
    end
end
function __svc_at --argument-names path least most
    __svc_find
    test "$__svc_path" = "$path"; or return 1
    test -z "$least"; and return 0
    test $__svc_count -ge $least; and test -z "$most" -o $__svc_count -le "$most"
end
function __svc_values --argument-names kind
    set -l typed (commandline -ct | string replace -r '^--[^=]*=' '')
    if test "$kind" = task
        command svc __complete task -- "$typed" "$__svc_first" 2>/dev/null
    else
        command svc __complete $kind -- "$typed" 2>/dev/null
    end
end`;

function linesOf({ path, below, options, arguments: given }: TableRow, rows: readonly TableRow[]): readonly string[] {
  const aboutOf = new Map(rows.map((row) => [row.path, row.about]));
  const at = (...counts: readonly (number | null)[]): string =>
    `-n ${word(['__svc_at', `"${path}"`, ...counts.filter((count) => count !== null)].join(' '))}`;
  return [
    ...below.map((name) => {
      const about = aboutOf.get(path === '' ? name : `${path} ${name}`) ?? '';
      return `complete -c svc ${at(0, 0)} -a ${word(name)} -d ${word(about)}`;
    }),
    ...options.map((option) => `complete -c svc ${at()} ${optionPart(option, rows)} -d ${word(option.about)}`),
    ...given.flatMap(({ kind, isRepeated }, index) => {
      const values = valuesOf(kind, rows);
      return values === null ? [] : [`complete -c svc ${at(index, isRepeated ? null : index)} ${values}`];
    }),
  ];
}

function optionPart({ names, value }: TableOption, rows: readonly TableRow[]): string {
  const named = names.map((name) =>
    name.startsWith('--') ? `-l ${word(name.slice(2))}` : `-s ${word(name.slice(1))}`,
  );
  if (value === undefined) return named.join(' ');
  // An optional value is taken only behind a \`=\`.
  const required = value.isOptional ? '' : ' -r';
  return `${named.join(' ')}${required} ${valuesOf(value.kind, rows) ?? '-f'}`;
}

/** Returns null for free text. */
function valuesOf(kind: ValueKind, rows: readonly TableRow[]): string | null {
  if (kind === null) return null;
  if (kind === 'file') return '-F';
  if (kind === 'directory') return `-f -a ${word('(__fish_complete_directories (commandline -ct) "")')}`;
  if (kind === 'command') return `-f -a ${word((rows[0]?.below ?? []).join(' '))}`;
  if (typeof kind !== 'string') return `-f -a ${word(kind.choices.join(' '))}`;
  return `-f -a ${word(`(__svc_values ${kind})`)}`;
}
