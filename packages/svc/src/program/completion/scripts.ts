/** Writes the completion scripts of the shells. */

import type { TableRow } from './command-table.ts';
import { fishScript } from './fish-script.ts';
import { commonFunctions } from './shell-functions.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type ShellName = (typeof shells)[number];

/** How a script is installed, as `--help` says it. */
export const installing: Readonly<Record<ShellName, string>> = {
  bash: "echo 'source <(svc completion bash)' >> ~/.bashrc",
  zsh: "echo 'source <(svc completion zsh)' >> ~/.zshrc   (after compinit)",
  fish: 'svc completion fish > ~/.config/fish/completions/svc.fish',
};

export function completionScript(shell: ShellName, rows: readonly TableRow[]): string {
  const head = `# Completion of svc for ${shell}, made by: svc completion ${shell}\n`;
  switch (shell) {
    case 'bash':
      return `${head}${commonFunctions(rows)}\n${bashPart}\n`;
    case 'zsh':
      return `#compdef svc\n${head}${commonFunctions(rows)}\n${zshPart}\n`;
    case 'fish':
      return `${head}${fishScript(rows)}\n`;
  }
}

/**
 * Readline splits the line at \`=\`, \`:\` and \`@\` too, and replaces what stands behind the last of these. A value has no character that
 * the shell would act on; files are completed by readline, which quotes them.
 */
const bashPart = `_svc() {
  local _svc_words=() _svc_below _svc_options _svc_valued _svc_arguments _svc_expects _svc_first _svc_path _svc_kind _svc_typed _svc_described
  local line=$COMP_LINE word behind i last value kept
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    behind=\${line#"\${line%%[![:space:]]*}"}
    if [[ $i != 0 && $behind == "$line" && -n $word ]]; then
      _svc_words[\${#_svc_words[@]}-1]+=$word
    else
      _svc_words+=("$word")
    fi
    line=\${behind#"$word"}
  done
  _svc_find
  COMPREPLY=()
  case $_svc_kind in
    file) compopt -o default 2>/dev/null; return 0 ;;
    directory) compopt -o dirnames 2>/dev/null; return 0 ;;
  esac
  last=$2
  word=\${_svc_words[\${#_svc_words[@]}-1]}
  kept=\${_svc_typed%"$last"}
  while IFS=$'\\t' read -r value line; do
    [[ -n $value && $value == "$_svc_typed"* ]] && COMPREPLY+=("\${value#"$kept"}")
  done < <(_svc_values)
  return 0
}
complete -F _svc svc`;

const zshPart = `_svc_find_here() {
  emulate -L ksh
  _svc_find
}
_svc() {
  local -a _svc_words values shown
  local _svc_below _svc_options _svc_valued _svc_arguments _svc_expects _svc_first _svc_path _svc_kind _svc_typed _svc_described
  local value about tab=$'\\t'
  _svc_words=("\${(@Q)words[1,CURRENT]}")
  _svc_find_here
  [[ $_svc_typed != "\${_svc_words[-1]}" ]] && compset -P '*='
  case $_svc_kind in
    file) _files; return ;;
    directory) _files -/; return ;;
    text) return 1 ;;
  esac
  while IFS=$tab read -r value about; do
    [[ -z $value ]] && continue
    values+=("$value")
    shown+=("\${(r:24:)value}\${about:+  $about}")
  done < <(_svc_values)
  (( \${#values} )) || return 1
  compadd -l -d shown -a values
}
if [[ \${zsh_eval_context[-1]} == loadautofunc ]]; then
  _svc "$@"
else
  compdef _svc svc
fi`;
