function __dlctl_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __dlctl_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __dlctl_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __dlctl_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __dlctl_parse_tokens -S
    set -l unparsed_tokens (__dlctl_tokens -pc)
    switch $unparsed_tokens[1]
    case 'dlctl'
        __dlctl_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'add'
            __dlctl_parse_subcommand -r 1 'g/globoff' 'i/input=+' 'metalink=+' 'cookies=' 'w/wait' 'o/output=+' 'd/directory=' 'on-conflict=' 'checksum=' 'mirror=+' 'x/connections=' 'resume-unproven' 'preserve-time' 'resume-data=' 's/session=' 'priority=' 'limit=' 'at=' 'deadline=' 'paused' 'retry=' 'timeout=' 'max-time=' 'description=' 'tag=+' 'attribute=+' 'client-token=' 'H/header=+' 'A/user-agent=' 'referer=' 'u/user=' 'password-stdin' 'password-file=' 'bearer-file=' 'bearer-env=' 'netrc' 'netrc-file=' 'proxy=' 'proxy-file=' 'interface=' 'ca-file=' 'cert=' 'key=' 'tls-min=' 'http-version=' 'accept-any-status' 'not-metered' 'not-cellular' 'not-low-data' 'discretionary' 'anyway' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'upload'
            __dlctl_parse_subcommand -r 1 'w/wait' 'protocol=' 'X/method=' 'form=' 'field=+' 'file-name=' 'content-type=' 'metadata=+' 'interop-version=' 'optimistic' 'send-checksum=' 's3=' 's/session=' 'priority=' 'limit=' 'at=' 'deadline=' 'paused' 'retry=' 'timeout=' 'max-time=' 'description=' 'tag=+' 'attribute=+' 'client-token=' 'H/header=+' 'A/user-agent=' 'referer=' 'u/user=' 'password-stdin' 'password-file=' 'bearer-file=' 'bearer-env=' 'netrc' 'netrc-file=' 'proxy=' 'proxy-file=' 'interface=' 'ca-file=' 'cert=' 'key=' 'tls-min=' 'http-version=' 'accept-any-status' 'not-metered' 'not-cellular' 'not-low-data' 'discretionary' 'anyway' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'fetch'
            __dlctl_parse_subcommand 1 'X/method=' 'd/data=' 'o/output=' 'f/fail' 's/session=' 'priority=' 'limit=' 'at=' 'deadline=' 'paused' 'retry=' 'timeout=' 'max-time=' 'description=' 'tag=+' 'attribute=+' 'client-token=' 'H/header=+' 'A/user-agent=' 'referer=' 'u/user=' 'password-stdin' 'password-file=' 'bearer-file=' 'bearer-env=' 'netrc' 'netrc-file=' 'proxy=' 'proxy-file=' 'interface=' 'ca-file=' 'cert=' 'key=' 'tls-min=' 'http-version=' 'accept-any-status' 'not-metered' 'not-cellular' 'not-low-data' 'discretionary' 'anyway' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'update'
            __dlctl_parse_subcommand -r 1 'url=' 's3=' 'mirror=+' 'o/output=' 'd/directory=' 'on-conflict=' 'checksum=' 'proxy=' 'interface=' 'ca-file=' 'priority=' 'limit=' 'H/header=+' 'description=' 'attribute=+' 'at=' 'deadline=' 'position=' 'u/user=' 'password-stdin' 'password-file=' 'bearer-file=' 'bearer-env=' 'netrc' 'netrc-file=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'list'
            __dlctl_parse_subcommand -r 1 'state=+' 's/session=' 'all' 'match=' 'n/limit=' 'owner=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'show'
            __dlctl_parse_subcommand -r 1 'secrets' 'timing' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'explain'
            __dlctl_parse_subcommand -r 1 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'watch'
            __dlctl_parse_subcommand -r 1 'owner=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'wait'
            __dlctl_parse_subcommand -r 1 'all' 's/session=' 'timeout=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'events'
            __dlctl_parse_subcommand 0 'after=' 'subscriber=' 'f/follow' 'type=+' 'task=+' 's/session=+' 'n/limit=' 'no-progress' 'forget' 'owner=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'decisions'
            __dlctl_parse_subcommand 0 's/session=' 'owner=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'pause'
            __dlctl_parse_subcommand -r 1 's/session=' 'all' 'state=+' 'owner=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'resume'
            __dlctl_parse_subcommand -r 1 's/session=' 'all' 'state=+' 'owner=' 'anyway' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'cancel'
            __dlctl_parse_subcommand -r 1 's/session=' 'all' 'state=+' 'owner=' 'keep-partial' 'resume-data=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'retry'
            __dlctl_parse_subcommand -r 1 's/session=' 'all' 'state=+' 'owner=' 'source-changed' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'remove'
            __dlctl_parse_subcommand -r 1 's/session=' 'all' 'state=+' 'owner=' 'delete' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'answer'
            __dlctl_parse_subcommand 2 'u/user=' 'certificate=' 'key=' 'persistence=' 'password-stdin' 'password-file=' 'for-session' 'url=' 'X/method=' 'H/header=+' 'o/output=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'session'
            __dlctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'open'
                __dlctl_parse_subcommand -r 2 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'list'
                __dlctl_parse_subcommand 0 'owner=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'show'
                __dlctl_parse_subcommand 1 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'set'
                __dlctl_parse_subcommand -r 2 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'pause'
                __dlctl_parse_subcommand 1 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'resume'
                __dlctl_parse_subcommand 1 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'finish'
                __dlctl_parse_subcommand 1 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'invalidate'
                __dlctl_parse_subcommand 1 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            end
        case 'cookies'
            __dlctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __dlctl_parse_subcommand 0 's/session=' 'domain=' 'secrets' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'import'
                __dlctl_parse_subcommand 1 's/session=' 'domain=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'export'
                __dlctl_parse_subcommand 0 's/session=' 'domain=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'remove'
                __dlctl_parse_subcommand 0 's/session=' 'domain=' 'path=' 'name=' 'all' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            end
        case 'credential'
            __dlctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'add'
                __dlctl_parse_subcommand 1 'realm=' 'proxy' 's/session=' 'username=' 'password-stdin' 'password-file=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'list'
                __dlctl_parse_subcommand 0 's/session=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'remove'
                __dlctl_parse_subcommand 1 'realm=' 'proxy' 's/session=' 'username=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            end
        case 'hsts'
            __dlctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __dlctl_parse_subcommand 0 'domain=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'remove'
                __dlctl_parse_subcommand 1 'all' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            end
        case 'trust'
            __dlctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __dlctl_parse_subcommand 0 'host=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'remove'
                __dlctl_parse_subcommand 1 'all' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            end
        case 'cache'
            __dlctl_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'info'
                __dlctl_parse_subcommand 0 'storage=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            case 'remove'
                __dlctl_parse_subcommand 0 'storage=' 'url=' 'all' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
            end
        case 'limit'
            __dlctl_parse_subcommand 0 'down=' 'up=' 'tasks=' 'per-host=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'settings'
            __dlctl_parse_subcommand -r 1 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'stats'
            __dlctl_parse_subcommand 0 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'metrics'
            __dlctl_parse_subcommand 0 'output=' 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'info'
            __dlctl_parse_subcommand 0 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'start'
            __dlctl_parse_subcommand 0 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'stop'
            __dlctl_parse_subcommand 0 'socket=' 'system' 'json' 'q/quiet' 'no-start' 'version' 'h/help'
        case 'help'
            __dlctl_parse_subcommand -r 1 'version'
        end
    end
end

function __dlctl_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __dlctl_parse_subcommand -S -a positional_count
    argparse -s r -- $argv
    set -l option_specs $argv[2..]
    set -l is_repeating_positional $_flag_r
    set -el _flag_r
    set -a commands $unparsed_tokens[1]
    set positional_index 0
    while true
        set -e unparsed_tokens[1]
        argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null
        set unparsed_tokens $argv
        set positional_index (math $positional_index + 1)
        for non_repeating_flag_or_option in $non_repeating_flags_or_options
            if set -ql "_flag_$(string replace -a - _ -- $non_repeating_flag_or_option)"
                set non_repeating_flags_or_options_absent 1
                break
            end
        end
        test (count $unparsed_tokens) -eq 0 -o \( -z "$is_repeating_positional" -a "$positional_index" -gt "$positional_count" \) && break
    end
end

function __dlctl_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __dlctl_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__dlctl_tokens -p)
    if test -z "$(__dlctl_tokens -t)"
        set -l index (count (__dlctl_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'dlctl' -f
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'add' -d 'Queue downloads and print their ids.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'upload' -d 'Queue uploads and print their ids.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'fetch' -d 'Make a short request and print the body of the answer.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'update' -d 'Change tasks, including failed and cancelled ones.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'list' -d 'List tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'show' -d 'Show tasks: state, what to do, file; then all details.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'explain' -d 'Explain why tasks are not running, what to do, and what happened so far.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'watch' -d 'Show progress on a live screen. Ctrl-C leaves; the tasks continue.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'wait' -d 'Wait until tasks have ended; the exit status shows how.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'events' -d 'Print the event log.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'decisions' -d 'List the questions that tasks ask, and how to answer them.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'pause' -d 'Stop tasks; they keep their bytes.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'resume' -d 'Resume paused tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'cancel' -d 'End tasks and remove their partial files.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'retry' -d 'Try failed, cancelled and waiting tasks now.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'remove' -d 'Remove ended tasks from the history.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'answer' -d 'Answer a task\'s question.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'session' -d 'Groups of tasks with their own settings.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'cookies' -d 'List, import, export and remove the cookies that the daemon keeps for you.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'credential' -d 'Your user names and passwords that the daemon keeps.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'hsts' -d 'Hosts that your tasks reach over https alone, because they asked for it (HSTS).'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'trust' -d 'TLS servers whose keys you trust for good.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'cache' -d 'Your answers to data tasks that the daemon keeps.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'limit' -d 'Show or change rate limits and slots, also for running transfers.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'settings' -d 'Show settings in force and their origins, or change global settings.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'stats' -d 'Show figures of the running daemon.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'metrics' -d 'Print figures of the running daemon for Prometheus.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'info' -d 'Show the daemon\'s version, process, folders and features.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'start' -d 'Start the daemon if none runs, and print where it listens.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'stop' -d 'Stop the daemon; transfers resume when it starts again.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" g globoff' -s 'g' -l 'globoff' -d 'Take braces and brackets in URLs literally.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add"' -s 'i' -l 'input' -d 'Read URLs from this list; - is standard input.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add"' -l 'metalink' -d 'Add the files of this Metalink document, with their mirrors and digests; - is standard input.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" cookies' -l 'cookies' -d 'Send the cookies of this file in Netscape format (\'-\' is standard input), or of firefox[:PROFILE] or chromium[:PROFILE].' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" w wait' -s 'w' -l 'wait' -d 'Wait and show progress; the exit status shows how it ended.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add"' -s 'o' -l 'output' -d 'Save as this file; #1 in it is the value of the URL\'s first [] or {}. Once only.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" d directory' -s 'd' -l 'directory' -d 'Save into this folder, created if missing; default: the session\'s, else the current one.' -rfa '(__dlctl_complete_directories)'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" on-conflict' -l 'on-conflict' -d 'What to do if the file exists.' -rfka 'rename overwrite fail'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" checksum' -l 'checksum' -d 'What the file must hash to: md5, sha-1, sha-256, sha-384 or sha-512, a colon, the value in hex.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add"' -l 'mirror' -d 'Another URL of the same file; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" connections x' -s 'x' -l 'connections' -d 'Connections of each download, 1 to 64.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" resume-unproven' -l 'resume-unproven' -d 'Resume although the server never says which version its parts belong to; give --checksum as well.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" preserve-time' -l 'preserve-time' -d 'Give the file the server\'s modification time.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" resume-data' -l 'resume-data' -d 'Resume a download from the file that \'cancel --resume-data\' wrote; in another folder it starts over.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" s session' -s 's' -l 'session' -d 'Put the tasks into this session.' -rfka '(__dlctl_custom_completion ---completion add -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" priority' -l 'priority' -d 'Place in the queue: low, normal, high, or a number from 0 to 1.' -rfka 'low normal high'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" limit' -l 'limit' -d 'Bytes per second of each task: 500k, 2M, none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" at' -l 'at' -d 'Start at this time: 22:30, +2h, or 2026-01-31T08:00:00Z.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" deadline' -l 'deadline' -d 'Fail if not done by this time.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" paused' -l 'paused' -d 'Add the tasks in the state paused.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" retry' -l 'retry' -d 'Failures in a row, without progress in between, after which a task fails; 0 = unlimited.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" timeout' -l 'timeout' -d 'End an attempt after this long without a byte: 30s, 2m.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" max-time' -l 'max-time' -d 'Fail after this much time in the queue and running: 12h, 7d.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" description' -l 'description' -d 'A note that \'list\' and \'show\' print.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add"' -l 'tag' -d 'A label; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add"' -l 'attribute' -d 'Something to keep with the tasks, for programs; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" client-token' -l 'client-token' -d 'Makes adding idempotent: the same token within 24 hours gives the same task.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add"' -s 'H' -l 'header' -d 'A header \'Name: value\', or @FILE with one per line; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" A user-agent' -s 'A' -l 'user-agent' -d 'User-Agent to send.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" referer' -l 'referer' -d 'Referer to send.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" u user' -s 'u' -l 'user' -d 'User name for the server; dlctl asks for the password, or see below.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" password-stdin' -l 'password-stdin' -d 'Read the password from standard input.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" password-file' -l 'password-file' -d 'Read the password from a file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" bearer-file' -l 'bearer-file' -d 'Read a bearer token from a file; - is standard input.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" bearer-env' -l 'bearer-env' -d 'Take a bearer token from an environment variable.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" netrc' -l 'netrc' -d 'Take user and password from ~/.netrc.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" netrc-file' -l 'netrc-file' -d 'Take user and password from this netrc file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" proxy' -l 'proxy' -d 'http, https, socks5 or socks5h proxy, or none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" proxy-file' -l 'proxy-file' -d 'Read the proxy\'s URL from a file, in case it holds a password.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" interface' -l 'interface' -d 'Network device, or an address that one has; nothing leaves by another device.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" ca-file' -l 'ca-file' -d 'Trust the certificates in this PEM file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" cert' -l 'cert' -d 'Client certificate (PEM).' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" key' -l 'key' -d 'Key of the client certificate (PEM).' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" tls-min' -l 'tls-min' -d 'Lowest TLS version.' -rfka '1.0 1.1 1.2 1.3'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" http-version' -l 'http-version' -d 'HTTP version.' -rfka '1.1 2'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" accept-any-status' -l 'accept-any-status' -d 'Accept every HTTP status: a task completes even with an error page, and is not tried again.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" not-metered' -l 'not-metered' -d 'Wait while the network is metered.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" not-cellular' -l 'not-cellular' -d 'Wait while the network is cellular.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" not-low-data' -l 'not-low-data' -d 'Wait while the setting lowDataMode is on.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" discretionary' -l 'discretionary' -d 'Wait while the network is metered or the machine runs on battery.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" anyway' -l 'anyway' -d 'Run on any network and on battery, whatever the session says.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl add" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl upload" -ge 1' -F
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" w wait' -s 'w' -l 'wait' -d 'Wait and show progress; the exit status shows how it ended.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" protocol' -l 'protocol' -d 'How to send over http: auto, put, post, multipart, tus, resumable, contentRange or s3Multipart.' -rfka 'auto put post multipart tus resumable contentRange s3Multipart'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" X method' -s 'X' -l 'method' -d 'HTTP method, if not the usual one.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" form' -l 'form' -d 'multipart: name of the form\'s field for the file.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload"' -l 'field' -d 'multipart: another field; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" file-name' -l 'file-name' -d 'Name to tell the server, or to give the file in a folder.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" content-type' -l 'content-type' -d 'Media type of the file.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload"' -l 'metadata' -d 'tus: metadata; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" interop-version' -l 'interop-version' -d 'resumable: version of the draft: 3, 5, 6 or 8.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" optimistic' -l 'optimistic' -d 'resumable: send data with the creation request.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" send-checksum' -l 'send-checksum' -d 'Send a digest with the file: md5, sha-1, sha-256, sha-384 or sha-512.' -rfka 'md5 sha-1 sha-256 sha-384 sha-512'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" s3' -l 's3' -d 's3Multipart: JSON file with partURLs, partSize, completeURL and optionally abortURL.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" s session' -s 's' -l 'session' -d 'Put the tasks into this session.' -rfka '(__dlctl_custom_completion ---completion upload -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" priority' -l 'priority' -d 'Place in the queue: low, normal, high, or a number from 0 to 1.' -rfka 'low normal high'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" limit' -l 'limit' -d 'Bytes per second of each task: 500k, 2M, none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" at' -l 'at' -d 'Start at this time: 22:30, +2h, or 2026-01-31T08:00:00Z.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" deadline' -l 'deadline' -d 'Fail if not done by this time.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" paused' -l 'paused' -d 'Add the tasks in the state paused.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" retry' -l 'retry' -d 'Failures in a row, without progress in between, after which a task fails; 0 = unlimited.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" timeout' -l 'timeout' -d 'End an attempt after this long without a byte: 30s, 2m.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" max-time' -l 'max-time' -d 'Fail after this much time in the queue and running: 12h, 7d.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" description' -l 'description' -d 'A note that \'list\' and \'show\' print.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload"' -l 'tag' -d 'A label; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload"' -l 'attribute' -d 'Something to keep with the tasks, for programs; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" client-token' -l 'client-token' -d 'Makes adding idempotent: the same token within 24 hours gives the same task.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload"' -s 'H' -l 'header' -d 'A header \'Name: value\', or @FILE with one per line; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" A user-agent' -s 'A' -l 'user-agent' -d 'User-Agent to send.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" referer' -l 'referer' -d 'Referer to send.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" u user' -s 'u' -l 'user' -d 'User name for the server; dlctl asks for the password, or see below.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" password-stdin' -l 'password-stdin' -d 'Read the password from standard input.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" password-file' -l 'password-file' -d 'Read the password from a file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" bearer-file' -l 'bearer-file' -d 'Read a bearer token from a file; - is standard input.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" bearer-env' -l 'bearer-env' -d 'Take a bearer token from an environment variable.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" netrc' -l 'netrc' -d 'Take user and password from ~/.netrc.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" netrc-file' -l 'netrc-file' -d 'Take user and password from this netrc file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" proxy' -l 'proxy' -d 'http, https, socks5 or socks5h proxy, or none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" proxy-file' -l 'proxy-file' -d 'Read the proxy\'s URL from a file, in case it holds a password.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" interface' -l 'interface' -d 'Network device, or an address that one has; nothing leaves by another device.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" ca-file' -l 'ca-file' -d 'Trust the certificates in this PEM file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" cert' -l 'cert' -d 'Client certificate (PEM).' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" key' -l 'key' -d 'Key of the client certificate (PEM).' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" tls-min' -l 'tls-min' -d 'Lowest TLS version.' -rfka '1.0 1.1 1.2 1.3'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" http-version' -l 'http-version' -d 'HTTP version.' -rfka '1.1 2'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" accept-any-status' -l 'accept-any-status' -d 'Accept every HTTP status: a task completes even with an error page, and is not tried again.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" not-metered' -l 'not-metered' -d 'Wait while the network is metered.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" not-cellular' -l 'not-cellular' -d 'Wait while the network is cellular.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" not-low-data' -l 'not-low-data' -d 'Wait while the setting lowDataMode is on.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" discretionary' -l 'discretionary' -d 'Wait while the network is metered or the machine runs on battery.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" anyway' -l 'anyway' -d 'Run on any network and on battery, whatever the session says.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl upload" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl fetch" -eq 1' -fka '(__dlctl_custom_completion ---completion fetch -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" X method' -s 'X' -l 'method' -d 'HTTP method; GET, or POST with -d.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" d data' -s 'd' -l 'data' -d 'Body to send; @FILE sends a file, @- standard input.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" o output' -s 'o' -l 'output' -d 'Write the body to this file once it is complete; - is standard output, even for binary data.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" f fail' -s 'f' -l 'fail' -d 'Omit the body of an error status.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" s session' -s 's' -l 'session' -d 'Put the tasks into this session.' -rfka '(__dlctl_custom_completion ---completion fetch -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" priority' -l 'priority' -d 'Place in the queue: low, normal, high, or a number from 0 to 1.' -rfka 'low normal high'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" limit' -l 'limit' -d 'Bytes per second of each task: 500k, 2M, none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" at' -l 'at' -d 'Start at this time: 22:30, +2h, or 2026-01-31T08:00:00Z.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" deadline' -l 'deadline' -d 'Fail if not done by this time.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" paused' -l 'paused' -d 'Add the tasks in the state paused.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" retry' -l 'retry' -d 'Failures in a row, without progress in between, after which a task fails; 0 = unlimited.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" timeout' -l 'timeout' -d 'End an attempt after this long without a byte: 30s, 2m.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" max-time' -l 'max-time' -d 'Fail after this much time in the queue and running: 12h, 7d.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" description' -l 'description' -d 'A note that \'list\' and \'show\' print.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch"' -l 'tag' -d 'A label; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch"' -l 'attribute' -d 'Something to keep with the tasks, for programs; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" client-token' -l 'client-token' -d 'Makes adding idempotent: the same token within 24 hours gives the same task.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch"' -s 'H' -l 'header' -d 'A header \'Name: value\', or @FILE with one per line; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" A user-agent' -s 'A' -l 'user-agent' -d 'User-Agent to send.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" referer' -l 'referer' -d 'Referer to send.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" u user' -s 'u' -l 'user' -d 'User name for the server; dlctl asks for the password, or see below.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" password-stdin' -l 'password-stdin' -d 'Read the password from standard input.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" password-file' -l 'password-file' -d 'Read the password from a file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" bearer-file' -l 'bearer-file' -d 'Read a bearer token from a file; - is standard input.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" bearer-env' -l 'bearer-env' -d 'Take a bearer token from an environment variable.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" netrc' -l 'netrc' -d 'Take user and password from ~/.netrc.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" netrc-file' -l 'netrc-file' -d 'Take user and password from this netrc file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" proxy' -l 'proxy' -d 'http, https, socks5 or socks5h proxy, or none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" proxy-file' -l 'proxy-file' -d 'Read the proxy\'s URL from a file, in case it holds a password.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" interface' -l 'interface' -d 'Network device, or an address that one has; nothing leaves by another device.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" ca-file' -l 'ca-file' -d 'Trust the certificates in this PEM file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" cert' -l 'cert' -d 'Client certificate (PEM).' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" key' -l 'key' -d 'Key of the client certificate (PEM).' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" tls-min' -l 'tls-min' -d 'Lowest TLS version.' -rfka '1.0 1.1 1.2 1.3'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" http-version' -l 'http-version' -d 'HTTP version.' -rfka '1.1 2'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" accept-any-status' -l 'accept-any-status' -d 'Accept every HTTP status: a task completes even with an error page, and is not tried again.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" not-metered' -l 'not-metered' -d 'Wait while the network is metered.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" not-cellular' -l 'not-cellular' -d 'Wait while the network is cellular.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" not-low-data' -l 'not-low-data' -d 'Wait while the setting lowDataMode is on.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" discretionary' -l 'discretionary' -d 'Wait while the network is metered or the machine runs on battery.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" anyway' -l 'anyway' -d 'Run on any network and on battery, whatever the session says.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl fetch" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl update" -ge 1' -fka '(__dlctl_custom_completion ---completion update -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" url' -l 'url' -d 'Download from here instead.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" s3' -l 's3' -d 's3Multipart: JSON file with newly signed partURLs, partSize, completeURL and abortURL.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update"' -l 'mirror' -d 'Another URL of the same file; replaces all mirrors of the task, \'\' removes them.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" o output' -s 'o' -l 'output' -d 'Save as this file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" d directory' -s 'd' -l 'directory' -d 'Save into this folder; the file keeps its name.' -rfa '(__dlctl_complete_directories)'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" on-conflict' -l 'on-conflict' -d 'What to do if the file exists.' -rfka 'rename overwrite fail'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" checksum' -l 'checksum' -d 'What the file must hash to: an algorithm, a colon, the value in hex.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" proxy' -l 'proxy' -d 'http, https, socks5 or socks5h proxy, or none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" interface' -l 'interface' -d 'Network device, or an address that one has; nothing leaves by another device.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" ca-file' -l 'ca-file' -d 'Trust the certificates in this PEM file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" priority' -l 'priority' -d 'Place in the queue, or a number from 0 to 1.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" limit' -l 'limit' -d 'Bytes per second: 500k, 2M, none.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update"' -s 'H' -l 'header' -d 'A header \'Name: value\', or @FILE with one per line; replaces all headers of the task, \'\' removes them.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" description' -l 'description' -d 'A note.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update"' -l 'attribute' -d 'Something to keep with the task, for programs; replaces all attributes of the task, \'\' removes them.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" at' -l 'at' -d 'Start at this time: 22:30, +2h, now, or 2026-01-31T08:00:00Z.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" deadline' -l 'deadline' -d 'Fail if not done by this time.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" position' -l 'position' -d 'Position among tasks of its priority: first, last or a number.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" u user' -s 'u' -l 'user' -d 'User name for the server; dlctl asks for the password, or see below.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" password-stdin' -l 'password-stdin' -d 'Read the password from standard input.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" password-file' -l 'password-file' -d 'Read the password from a file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" bearer-file' -l 'bearer-file' -d 'Read a bearer token from a file; - is standard input.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" bearer-env' -l 'bearer-env' -d 'Take a bearer token from an environment variable.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" netrc' -l 'netrc' -d 'Take user and password from ~/.netrc.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" netrc-file' -l 'netrc-file' -d 'Take user and password from this netrc file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl update" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl list" -ge 1' -fka '(__dlctl_custom_completion ---completion list -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list"' -l 'state' -d 'Only tasks in this state; may be repeated.' -rfka 'queued running waiting paused completed failed cancelled'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" s session' -s 's' -l 'session' -d 'Only tasks of this session.' -rfka '(__dlctl_custom_completion ---completion list -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" all' -l 'all' -d 'List all tasks, even on a terminal.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" match' -l 'match' -d 'Only tasks whose URL, description or file contains this text.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" limit n' -s 'n' -l 'limit' -d 'At most this many tasks.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl show" -ge 1' -fka '(__dlctl_custom_completion ---completion show -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" secrets' -l 'secrets' -d 'Show credentials, all headers and the request\'s body unmasked; only for your own tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" timing' -l 'timing' -d 'Draw how long each request took, step by step; numbers if the output is not a terminal.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl show" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl explain" -ge 1' -fka '(__dlctl_custom_completion ---completion explain -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl explain" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl explain" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl explain" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl explain" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl explain" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl explain" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl explain" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl watch" -ge 1' -fka '(__dlctl_custom_completion ---completion watch -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl watch" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl wait" -ge 1' -fka '(__dlctl_custom_completion ---completion wait -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" all' -l 'all' -d 'All tasks that are queued, running or waiting.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" s session' -s 's' -l 'session' -d 'All such tasks of this session.' -rfka '(__dlctl_custom_completion ---completion wait -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" timeout' -l 'timeout' -d 'Wait no longer than this, such as 30s, 5m or 2h.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl wait" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" after' -l 'after' -d 'Start after this number, or at \'start\' or \'now\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" subscriber' -l 'subscriber' -d 'Start after the last event this durable name acknowledged, a new name at the end; and acknowledge.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" f follow' -l 'follow' -s 'f' -d 'Continue with new events, including progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events"' -l 'type' -d 'Only events of this type; may be repeated.' -rfka 'task.added task.started task.redirected task.response task.resumed task.restarted task.progress task.waiting task.decision task.paused task.queued task.updated task.completed task.failed task.cancelled task.removed session.opened session.paused session.resumed session.drained session.invalidated settings.changed events.lagged'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events"' -l 'task' -d 'Only events of this task, or of a range such as 3-7; may be repeated.' -rfka '(__dlctl_custom_completion ---completion events -- --task (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events"' -s 's' -l 'session' -d 'Only events of this session; may be repeated.' -rfka '(__dlctl_custom_completion ---completion events -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" limit n' -s 'n' -l 'limit' -d 'At most this many stored events; the newest, unless --after is given.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" no-progress' -l 'no-progress' -d 'Omit progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" forget' -l 'forget' -d 'Forget the durable name given with --subscriber, and exit.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl events" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" s session' -s 's' -l 'session' -d 'Only questions of this session.' -rfka '(__dlctl_custom_completion ---completion decisions -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl decisions" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl pause" -ge 1' -fka '(__dlctl_custom_completion ---completion pause -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" s session' -s 's' -l 'session' -d 'All tasks of this session.' -rfka '(__dlctl_custom_completion ---completion pause -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" all' -l 'all' -d 'All tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause"' -l 'state' -d 'Only tasks in this state; may be repeated.' -rfka 'queued running waiting paused completed failed cancelled'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl pause" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl resume" -ge 1' -fka '(__dlctl_custom_completion ---completion resume -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" s session' -s 's' -l 'session' -d 'All tasks of this session.' -rfka '(__dlctl_custom_completion ---completion resume -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" all' -l 'all' -d 'All tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume"' -l 'state' -d 'Only tasks in this state; may be repeated.' -rfka 'queued running waiting paused completed failed cancelled'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" anyway' -l 'anyway' -d 'Run these tasks on any network and on battery from now on, paused or not; only tasks named by id.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl resume" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cancel" -ge 1' -fka '(__dlctl_custom_completion ---completion cancel -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" s session' -s 's' -l 'session' -d 'All tasks of this session.' -rfka '(__dlctl_custom_completion ---completion cancel -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" all' -l 'all' -d 'All tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel"' -l 'state' -d 'Only tasks in this state; may be repeated.' -rfka 'queued running waiting paused completed failed cancelled'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" keep-partial' -l 'keep-partial' -d 'Keep the partial file, so that \'retry\' resumes from it.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" resume-data' -l 'resume-data' -d 'Write this file, or replace it, for \'add --resume-data\', and keep the partial file; one task only.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cancel" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl retry" -ge 1' -fka '(__dlctl_custom_completion ---completion retry -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" s session' -s 's' -l 'session' -d 'All tasks of this session.' -rfka '(__dlctl_custom_completion ---completion retry -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" all' -l 'all' -d 'All tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry"' -l 'state' -d 'Only tasks in this state; may be repeated.' -rfka 'queued running waiting paused completed failed cancelled'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" source-changed' -l 'source-changed' -d 'If the file has changed since it was added, send it as it is now, from the beginning.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl retry" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl remove" -ge 1' -fka '(__dlctl_custom_completion ---completion remove -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" s session' -s 's' -l 'session' -d 'All tasks of this session.' -rfka '(__dlctl_custom_completion ---completion remove -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" all' -l 'all' -d 'All tasks.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove"' -l 'state' -d 'Only tasks in this state; may be repeated.' -rfka 'queued running waiting paused completed failed cancelled'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" delete' -l 'delete' -d 'Delete the downloaded file too, unless it was changed or replaced.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl remove" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl answer" -eq 1' -fka 'useCredential performDefaultHandling rejectProtectionSpace trust cancel follow followWith refuse allow becomeDownload continue newRequest store memoryOnly doNotStore'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" u user' -s 'u' -l 'user' -d 'User name; dlctl asks for the password, or see below.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" certificate' -l 'certificate' -d 'PEM certificate to show; dlctl asks for the pass phrase of its key.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" key' -l 'key' -d 'PEM key of --certificate, if it is in another file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" persistence' -l 'persistence' -d 'How long trust or a credential lasts: none (this task), session or permanent (all your tasks).' -rfka 'none session permanent'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" password-stdin' -l 'password-stdin' -d 'Read the password from standard input.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" password-file' -l 'password-file' -d 'Read the password from a file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" for-session' -l 'for-session' -d 'Use the credential for all tasks of the session, like --persistence session.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" url' -l 'url' -d 'URL of another request.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" X method' -s 'X' -l 'method' -d 'Method of another request.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer"' -s 'H' -l 'header' -d 'A header \'Name: value\' of another request, or @FILE with one per line, in place of all proposed ones; may be repeated.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" o output' -s 'o' -l 'output' -d 'Save as this file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl answer" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'open' -d 'Create a session, or change the settings of an existing one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'list' -d 'List sessions.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'show' -d 'Show a session with its settings and counts.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'set' -d 'Change settings of a session; \'name=default\' unsets one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'pause' -d 'Run none of its tasks, including later ones, until \'session resume\'.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'resume' -d 'Let its tasks run again; tasks that were paused one by one stay paused.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'finish' -d 'Accept no more tasks, and end after the last one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session" -eq 1' -fa 'invalidate' -d 'Cancel the session\'s tasks and end it.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session open" -eq 1' -fka '(__dlctl_custom_completion ---completion session open -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session open" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session open" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session open" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session open" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session open" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session open" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session open" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" owner' -l 'owner' -d 'Another user\'s (administrators only): a user name or id, or \'all\' or \'*\'.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session show" -eq 1' -fka '(__dlctl_custom_completion ---completion session show -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session show" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session show" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session show" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session show" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session show" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session show" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session show" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session set" -eq 1' -fka '(__dlctl_custom_completion ---completion session set -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session set" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session set" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session set" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session set" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session set" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session set" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session set" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session pause" -eq 1' -fka '(__dlctl_custom_completion ---completion session pause -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session pause" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session pause" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session pause" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session pause" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session pause" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session pause" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session pause" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session resume" -eq 1' -fka '(__dlctl_custom_completion ---completion session resume -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session resume" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session resume" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session resume" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session resume" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session resume" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session resume" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session resume" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session finish" -eq 1' -fka '(__dlctl_custom_completion ---completion session finish -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session finish" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session finish" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session finish" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session finish" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session finish" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session finish" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session finish" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl session invalidate" -eq 1' -fka '(__dlctl_custom_completion ---completion session invalidate -- positional@0 (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session invalidate" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session invalidate" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session invalidate" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session invalidate" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session invalidate" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session invalidate" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl session invalidate" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cookies" -eq 1' -fa 'list' -d 'List cookies.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cookies" -eq 1' -fa 'import' -d 'Store the cookies of a file in Netscape format, or of a browser.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cookies" -eq 1' -fa 'export' -d 'Print cookies in Netscape format, with their values.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cookies" -eq 1' -fa 'remove' -d 'Remove the cookies that match every option.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" s session' -s 's' -l 'session' -d 'Cookies of this session.' -rfka '(__dlctl_custom_completion ---completion cookies list -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" domain' -l 'domain' -d 'Only cookies of this domain and the names below it.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" secrets' -l 'secrets' -d 'Show values too.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cookies import" -eq 1' -F
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" s session' -s 's' -l 'session' -d 'Cookies of this session.' -rfka '(__dlctl_custom_completion ---completion cookies import -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" domain' -l 'domain' -d 'Only cookies of this domain and the names below it.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies import" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" s session' -s 's' -l 'session' -d 'Cookies of this session.' -rfka '(__dlctl_custom_completion ---completion cookies export -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" domain' -l 'domain' -d 'Only cookies of this domain and the names below it.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies export" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" s session' -s 's' -l 'session' -d 'Cookies of this session.' -rfka '(__dlctl_custom_completion ---completion cookies remove -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" domain' -l 'domain' -d 'Only cookies of this domain and the names below it.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" path' -l 'path' -d 'Only cookies with exactly this path.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" name' -l 'name' -d 'Only cookies with this name.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" all' -l 'all' -d 'Remove all cookies.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cookies remove" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl credential" -eq 1' -fa 'add' -d 'Store a user name and a password for a server or proxy.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl credential" -eq 1' -fa 'list' -d 'List credentials without their passwords.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl credential" -eq 1' -fa 'remove' -d 'Remove the credentials of a server or proxy; without options, those of every realm and user.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" realm' -l 'realm' -d 'The realm that the server names; default: every realm.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" proxy' -l 'proxy' -d 'The host is a proxy.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" s session' -s 's' -l 'session' -d 'The credentials of this session.' -rfka '(__dlctl_custom_completion ---completion credential add -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" username' -l 'username' -d 'User name; without this option dlctl asks for it.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" password-stdin' -l 'password-stdin' -d 'Read the password from standard input.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" password-file' -l 'password-file' -d 'Read the password from a file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential add" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" s session' -s 's' -l 'session' -d 'The credentials of this session.' -rfka '(__dlctl_custom_completion ---completion credential list -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" realm' -l 'realm' -d 'The realm that the server names; default: every realm.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" proxy' -l 'proxy' -d 'The host is a proxy.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" s session' -s 's' -l 'session' -d 'The credentials of this session.' -rfka '(__dlctl_custom_completion ---completion credential remove -- --session (count (__dlctl_tokens -pc)) (__dlctl_tokens -tC))'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" username' -l 'username' -d 'Only the credential of this user.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl credential remove" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl hsts" -eq 1' -fa 'list' -d 'List the hosts.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl hsts" -eq 1' -fa 'remove' -d 'Forget hosts, until they ask again.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" domain' -l 'domain' -d 'Only this domain and the names below it.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" all' -l 'all' -d 'Forget all hosts.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl hsts remove" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl trust" -eq 1' -fa 'list' -d 'List the servers and their keys.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl trust" -eq 1' -fa 'remove' -d 'Trust servers no longer.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" host' -l 'host' -d 'Only the servers of this host.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" all' -l 'all' -d 'Trust none of the servers any more.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl trust remove" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cache" -eq 1' -fa 'info' -d 'Show how much is stored.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl cache" -eq 1' -fa 'remove' -d 'Remove stored answers.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" storage' -l 'storage' -d 'Only this storage.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache info" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" storage' -l 'storage' -d 'Only answers in this storage.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" url' -l 'url' -d 'Only answers for this URL.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" all' -l 'all' -d 'Remove all answers.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl cache remove" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" down' -l 'down' -d 'All downloads together: 500k, 2M, none or default.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" up' -l 'up' -d 'All uploads together: 500k, 2M, none or default.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" tasks' -l 'tasks' -d 'Tasks that run at the same time, or default.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" per-host' -l 'per-host' -d 'Tasks that run at the same time on one host, or default.' -rfka ''
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl limit" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_positional "dlctl settings" -ge 1' -fka 'maximumConcurrentTasks maximumConcurrentTasksPerHost maximumConcurrentTasksPerUser maximumQueuedTasksPerUser downloadRateLimit uploadRateLimit minimumFreeSpace historyRetention eventRetention eventRetentionCount progressInterval diskPollInterval credentialHelper lowDataMode keepsAwake'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl settings" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl settings" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl settings" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl settings" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl settings" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl settings" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl settings" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stats" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stats" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stats" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stats" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stats" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stats" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stats" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" output' -l 'output' -d 'Write to this file.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl metrics" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl info" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl info" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl info" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl info" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl info" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl info" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl info" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl start" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl start" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl start" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl start" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl start" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl start" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl start" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stop" socket' -l 'socket' -d 'Use the daemon at this socket and no other.' -rF
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stop" system' -l 'system' -d 'Use the system daemon, not your own; with --socket, at that socket.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stop" json' -l 'json' -d 'Print JSON: one value, or one per line if results come one by one.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stop" q quiet' -l 'quiet' -s 'q' -d 'Print only results, no remarks and no progress.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stop" no-start' -l 'no-start' -d 'Do not start a daemon if none runs.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stop" version' -l 'version' -d 'Show the version.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl stop" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'dlctl' -n '__dlctl_should_offer_completions_for_flags_or_options "dlctl help" version' -l 'version' -d 'Show the version.'