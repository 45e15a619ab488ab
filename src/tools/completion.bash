# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Bash completion of %PROGRAM%: what its --help lists, subcommands and options; of a
# program that starts another, that one's own completion behind it.

_ucx_efa_srd() {
    local program=("$1") cur=${COMP_WORDS[COMP_CWORD]} i=1 help
    case ${1##*/} in
    efasim)
        [[ ${COMP_WORDS[1]} == run ]] && i=2
        [ "$COMP_CWORD" -eq 1 ] || program+=("${COMP_WORDS[1]}")
        ;;
    srdrun) ;;
    *) i=$((COMP_CWORD + 1)) ;;
    esac
    # the command that it starts: behind --, or in srdrun's first place
    for (( ; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]] || [[ $1 == *srdrun ]]; then
            [[ ${COMP_WORDS[i]} != -- ]] || i=$((i + 1))
            if [ "$i" -eq "$COMP_CWORD" ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            elif declare -F _command_offset >/dev/null; then
                _command_offset "$i"
            fi
            return
        fi
    done
    if [[ $1 == *srdrun ]] && [[ $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        return
    fi
    help=$(command "${program[@]}" --help=all 2>/dev/null |
        sed -nE 's/^  (-., )?(--[a-z0-9-]+).*/\2/p; s/^  ([a-z]+)  .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$help" -- "$cur")
}
complete -o default -F _ucx_efa_srd %PROGRAM%
