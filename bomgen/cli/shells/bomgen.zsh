#compdef bomgen
# Completion of bomgen in zsh. The program is asked for words; files are zsh's own affair.
_bomgen() {
    local kind word help
    local -a said words_said open_said paths folders
    while IFS=$'\t' read -r kind word help; do
        case $kind in
            files) _files ;;
            folders) _files -/ ;;
            path) if [[ $word == */ ]]; then folders+=("$word"); else paths+=("$word"); fi ;;
            open) open_said+=("$word") ;;
            word) words_said+=("${word//:/\\:}${help:+:$help}") ;;
        esac
    done < <(_BOMGEN_COMPLETE=zsh_complete \
        BOMGEN_LINE="${(pj:\x1f:)${(@)words[1,CURRENT-1]}}"$'\x1f'"$PREFIX" "${words[1]}" 2>/dev/null)
    (( $#words_said )) && _describe -V bomgen words_said
    (( $#open_said )) && compadd -S '' -a open_said
    (( $#paths )) && compadd -f -a paths
    (( $#folders )) && compadd -f -S '' -a folders
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _bomgen "$@"
else
    compdef _bomgen bomgen
fi
