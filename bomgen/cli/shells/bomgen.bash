# Completion of bomgen in bash 4.4 or later. The program is asked for words; files are bash's own affair.
_bomgen_complete() {
    local kind word help
    COMPREPLY=()
    while IFS=$'\t' read -r kind word help; do
        case $kind in
            files) compopt -o default ;;
            folders) compopt -o dirnames ;;
            path) compopt -o filenames && COMPREPLY+=("$word") ;;
            open) compopt -o nospace && COMPREPLY+=("$word") ;;
            word) COMPREPLY+=("$word") ;;
        esac
    done < <(_BOMGEN_COMPLETE=bash_complete BOMGEN_LINE="${COMP_LINE:0:COMP_POINT}" \
        BOMGEN_BREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null)
}
complete -o nosort -F _bomgen_complete bomgen
