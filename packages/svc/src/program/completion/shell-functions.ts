/** Writes what the completions for bash and zsh have in common: the table of all commands, and which value the cursor is at. */

import { quotedWord } from '@svc/kit/diagnostics/shell-word.ts';
import type { TableArgument, TableRow, ValueKind } from './command-table.ts';

/**
 * `_svc_table <path>` sets what there is behind a command: `_svc_below`, `_svc_options` (a line each, with a tab before its description), `_svc_valued`
 * (`--name=kind`; `?` before the kind of a value that may be left out) and `_svc_arguments`.
 */
function tableFunction(rows: readonly TableRow[]): string {
  const cases = rows.map(({ path, below, options, arguments: given }) => {
    const lines = options.flatMap(({ names, about }) => names.map((name) => `${name}\t${about}`));
    const valued = options.flatMap(({ names, value }) =>
      value === undefined ? [] : names.map((name) => `${name}=${value.isOptional ? '?' : ''}${spelled(value.kind)}`),
    );
    return `  ${quotedWord(path)})
    _svc_below=${quotedWord(below.join(' '))}
    _svc_options=${quotedWord(lines.join('\n'))}
    _svc_valued=${quotedWord(valued.join(' '))}
    _svc_arguments=${quotedWord(given.map(argumentWord).join(' '))} ;;`;
  });
  return `_svc_table() {\n  case $1 in\n${cases.join('\n')}\n  esac\n}`;
}

/** `_svc_about <path>` sets `_svc_described` to a line for each command below, with a tab before its description. */
function aboutFunction(rows: readonly TableRow[]): string {
  const aboutOf = new Map(rows.map(({ path, about }) => [path, about]));
  const cases = rows
    .filter(({ below }) => below.length > 0)
    .map(({ path, below }) => {
      const lines = below.map((name) => `${name}\t${aboutOf.get(path === '' ? name : `${path} ${name}`) ?? ''}`);
      return `  ${quotedWord(path)}) _svc_described=${quotedWord(lines.join('\n'))} ;;`;
    });
  return `_svc_about() {\n  case $1 in\n${cases.join('\n')}\n  esac\n}`;
}

function argumentWord({ kind, isRepeated }: TableArgument): string {
  return `${spelled(kind)}${isRepeated ? '...' : ''}`;
}

function spelled(kind: ValueKind): string {
  if (kind === null) return 'text';
  return typeof kind === 'string' ? kind : `choices:${kind.choices.join(',')}`;
}

/**
 * `_svc_find` takes the words up to the cursor from `_svc_words`, and sets `_svc_kind` to what belongs there: a kind, `commands` or `options`. Of an
 * option with `=`, `_svc_typed` is what stands behind that. `_svc_first` is the first argument. Words of the line are only compared.
 */
const findFunction = `_svc_expect() {
  local rest=" $_svc_valued "
  _svc_expects=''
  if [[ $rest == *" $1="* ]]; then
    rest=\${rest#*" $1="}
    _svc_expects=\${rest%% *}
  fi
}
_svc_find() {
  local path='' only='' word i count=0 last=$((\${#_svc_words[@]} - 1))
  _svc_expects='' _svc_first=''
  _svc_table ''
  for ((i = 1; i < last; i++)); do
    word=\${_svc_words[i]}
    if [[ -n $_svc_expects ]] && ! [[ $_svc_expects == '?'* && $word == -* ]]; then
      _svc_expects=''
    elif [[ -z $only && $word == -- ]]; then
      only=1
    elif [[ -z $only && $word == --*=* ]]; then
      _svc_expects=''
    elif [[ -z $only && $word == -?* ]]; then
      _svc_expect "$word"
    elif [[ -z $only && $count == 0 && " $_svc_below " == *" $word "* ]]; then
      path=\${path:+$path }$word
      _svc_table "$path"
      _svc_expects=''
    else
      count=$((count + 1))
      [[ $count == 1 ]] && _svc_first=$word
      _svc_expects=''
    fi
  done
  _svc_path=$path
  word=\${_svc_words[last]}
  _svc_typed=$word
  if [[ -n $_svc_expects ]] && ! [[ $_svc_expects == '?'* && $word == -* ]]; then
    _svc_kind=\${_svc_expects#'?'}
  elif [[ -z $only && $word == --*=* ]]; then
    _svc_expect "\${word%%=*}"
    _svc_typed=\${word#*=}
    _svc_kind=\${_svc_expects#'?'}
  elif [[ -z $only && $word == -* ]]; then
    _svc_kind=options
  elif [[ -n $_svc_below && $count == 0 ]]; then
    _svc_kind=commands
  else
    local kind rest="$_svc_arguments "
    _svc_kind=text
    for ((i = 0; i <= count; i++)); do
      kind=\${rest%% *}
      [[ -z $kind ]] && return 0
      [[ $kind == *... ]] || rest=\${rest#* }
    done
    _svc_kind=\${kind%...}
  fi
  return 0
}`;

/** `_svc_values` prints candidates for a kind, a line each, a tab before what there is to say of it. */
const valuesFunction = `_svc_values() {
  case $_svc_kind in
    choices:*) printf '%s\\n' "\${_svc_kind#choices:}" | tr , '\\n' ;;
    commands) _svc_about "$_svc_path"; printf '%s\\n' "$_svc_described" ;;
    command) _svc_about ''; printf '%s\\n' "$_svc_described" ;;
    options) printf '%s\\n' "$_svc_options" ;;
    session | running | code | artifact | capsule) command svc __complete "$_svc_kind" -- "$_svc_typed" 2>/dev/null ;;
    task) command svc __complete task -- "$_svc_typed" "$_svc_first" 2>/dev/null ;;
  esac
}`;

/** All of these functions. */
export function commonFunctions(rows: readonly TableRow[]): string {
  return [tableFunction(rows), aboutFunction(rows), findFunction, valuesFunction].join('\n');
}
