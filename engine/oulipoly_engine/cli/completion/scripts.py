"""`completion`: the script that makes a shell complete our words, by asking us at each of them."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, RawHelp
from oulipoly_engine.facade import output

# Words are cut off at the cursor. bash cuts them at `=` and `:` too; what it cut off is not to be offered again.
_BASH = r"""
_oulipoly_agents() {
    local IFS=$'\n' word="${COMP_WORDS[COMP_CWORD]}" line
    [[ $word == "=" ]] && word=
    COMPREPLY=()
    while read -r line; do
        case $line in
            :files) compopt -o filenames; COMPREPLY+=($(compgen -f -- "$word")) ;;
            :folders) compopt -o filenames; COMPREPLY+=($(compgen -d -- "$word")) ;;
            :programs) COMPREPLY+=($(compgen -c -- "$word")) ;;
            ?*) COMPREPLY+=("$line") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _oulipoly_agents agents oulipoly-agent-runner
"""
_ZSH = r"""#compdef agents oulipoly-agent-runner
_oulipoly_agents() {
    local line value
    local -a offers
    while IFS= read -r line; do
        case $line in
            :files) _files ;;
            :folders) _files -/ ;;
            :programs) _command_names -e ;;
            ?*)
                value=${line%%$'\t'*}
                value=${value//\\/\\\\}
                value=${value//:/\\:}
                if [[ $line == *$'\t'* ]]; then offers+=("$value:${line#*$'\t'}"); else offers+=("$value"); fi ;;
        esac
    done < <(${(Q)words[1]} __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#offers )) && _describe -V '' offers
}
if [[ $funcstack[1] == _agents ]]; then _oulipoly_agents; else compdef _oulipoly_agents agents oulipoly-agent-runner; fi
"""
_FISH = r"""
function __oulipoly_agents
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] __complete fish $words[2..] "$word" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$word"
            case ':folders'
                __fish_complete_directories "$word" ''
            case ':programs'
                complete -C "$word"
            case '*'
                echo $line
        end
    end
end
complete -c agents -f -k -a '(__oulipoly_agents)'
complete -c oulipoly-agent-runner -f -k -a '(__oulipoly_agents)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_EPILOG = """\
bash:  put into ~/.bashrc    eval "$(agents completion bash)"
zsh:   put into ~/.zshrc     eval "$(agents completion zsh)"       behind compinit
fish:  agents completion fish > ~/.config/fish/completions/agents.fish"""


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print a shell's script."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Print the script that makes a shell complete commands, options, models, accounts and ids.",
        epilog=_EPILOG,
        formatter_class=RawHelp,
    )
    parser.add_argument("shell", choices=sorted(_SCRIPTS), metavar="SHELL", help="bash, zsh or fish")
    output.write_block(_SCRIPTS[parser.parse(arguments).shell].lstrip())
    return 0
