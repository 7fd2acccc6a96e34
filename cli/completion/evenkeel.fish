# fish completion for evenkeel. Commands, options and the words of a value come from `evenkeel --complete`, so nothing here
# needs to change with them.

function __evenkeel_asked --description 'the command whose options are wanted; trace merge, trace cut and ir diff have their own'
    set -l words (commandline -opc)
    # Without a command the options are those of files.
    if not contains -- $words[2] (evenkeel --complete 2>/dev/null | string replace -r '\t.*' '')
        echo overview
        return
    end
    echo $words[2]
    if test (count $words) -gt 2; and contains -- "$words[2] $words[3]" 'trace merge' 'trace cut' 'ir diff'
        echo $words[3]
    end
end

function __evenkeel_argument --description 'what the value of the option before the cursor is; nothing after a flag'
    set -l words (commandline -opc)
    test (count $words) -gt 2; or return
    set -l before (string replace -r '^-+' '' -- $words[-1])
    string match -q -- '-*' $words[-1]; or return
    for line in (evenkeel (__evenkeel_asked) --complete 2>/dev/null)
        set -l fields (string split \t -- $line)
        if test (string replace -r '^-+' '' -- $fields[1]) = $before
            echo $fields[2]
        end
    end
end

function __evenkeel_complete --description 'options of the command, or words for the value of the option before'
    set -l argument (__evenkeel_argument)
    switch "$argument"
        case ''
            evenkeel (__evenkeel_asked) --complete 2>/dev/null | string replace -r '\t[^\t]*\t' \t
            string match -q -- '-*' (commandline -ct); or __fish_complete_path (commandline -ct)
        case FILE
            __fish_complete_path (commandline -ct)
        case DIR
            __fish_complete_directories (commandline -ct)
        case SCHEDULE
            echo auto
            evenkeel simulate --list-schedules 2>/dev/null | awk 'NR > 1 { print $1 }'
        case '*|FILE'
            string split '|' -- (string replace -r '\|FILE$' '' -- $argument)
            __fish_complete_path (commandline -ct)
        case '*|*'
            string split '|' -- $argument
    end
end

complete -c evenkeel -f
complete -c evenkeel -n 'test (count (commandline -opc)) -eq 1' -a '(evenkeel --complete 2>/dev/null)'
complete -c evenkeel -n 'test (count (commandline -opc)) -eq 1' -a '(__fish_complete_path (commandline -ct))'
complete -c evenkeel -n 'test (count (commandline -opc)) -eq 1' -l version -d 'the version'
complete -c evenkeel -n 'test (count (commandline -opc)) -eq 1' -l help -d 'the commands'
complete -c evenkeel -n 'test (count (commandline -opc)) -gt 1' -a '(__evenkeel_complete)'
