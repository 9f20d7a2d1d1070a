# Completion of bomgen in fish. The program is asked for words; files are fish's own affair.
function __bomgen_complete
    set -l line (string join \x1f -- (commandline -opc) (commandline -ct))
    for said in (_BOMGEN_COMPLETE=fish_complete BOMGEN_LINE=$line bomgen 2>/dev/null)
        set -l parts (string split --max 2 \t -- $said)
        switch $parts[1]
            case files
                __fish_complete_path (commandline -ct)
            case folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $parts[2]\t$parts[3]
        end
    end
end
complete --command bomgen --no-files --keep-order --arguments '(__bomgen_complete)'
