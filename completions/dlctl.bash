#!/bin/bash

__dlctl_cursor_index_in_current_word() {
    local remaining="${COMP_LINE}"

    local word
    for word in "${COMP_WORDS[@]::COMP_CWORD}"; do
        remaining="${remaining##*([[:space:]])"${word}"*([[:space:]])}"
    done

    local -ir index="$((COMP_POINT - ${#COMP_LINE} + ${#remaining}))"
    if [[ "${index}" -le 0 ]]; then
        printf 0
    else
        printf %s "${index}"
    fi
}

# positional arguments:
#
# - 1: the current (sub)command's count of positional arguments
#
# required variables:
#
# - repeating_flags: the repeating flags that the current (sub)command can accept
# - non_repeating_flags: the non-repeating flags that the current (sub)command can accept
# - repeating_options: the repeating options that the current (sub)command can accept
# - non_repeating_options: the non-repeating options that the current (sub)command can accept
# - positional_number: value ignored
# - unparsed_words: unparsed words from the current command line
#
# modified variables:
#
# - non_repeating_flags: remove flags for this (sub)command that are already on the command line
# - non_repeating_options: remove options for this (sub)command that are already on the command line
# - positional_number: set to the current positional number
# - unparsed_words: remove all flags, options, and option values for this (sub)command
__dlctl_offer_flags_options() {
    local -ir positional_count="${1}"
    positional_number=0

    local was_flag_option_terminator_seen=false
    local is_parsing_option_value=false

    local -ar unparsed_word_indices=("${!unparsed_words[@]}")
    local -i word_index
    for word_index in "${unparsed_word_indices[@]}"; do
        if "${is_parsing_option_value}"; then
            # This word is an option value:
            # Reset marker for next word iff not currently the last word
            [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]] && is_parsing_option_value=false
            unset "unparsed_words[${word_index}]"
            # Do not process this word as a flag or an option
            continue
        fi

        local word="${unparsed_words["${word_index}"]}"
        if ! "${was_flag_option_terminator_seen}"; then
            case "${word}" in
            --)
                unset "unparsed_words[${word_index}]"
                # by itself -- is a flag/option terminator, but if it is the last word, it is the start of a completion
                if [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]]; then
                    was_flag_option_terminator_seen=true
                fi
                continue
                ;;
            -*)
                # ${word} is a flag or an option
                # If ${word} is an option, mark that the next word to be parsed is an option value
                local option
                for option in "${repeating_options[@]}" "${non_repeating_options[@]}"; do
                    [[ "${word}" = "${option}" ]] && is_parsing_option_value=true && break
                done

                # Remove ${word} from ${non_repeating_flags} or ${non_repeating_options} so it isn't offered again
                local not_found=true
                local -i index
                for index in "${!non_repeating_flags[@]}"; do
                    if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                        unset "non_repeating_flags[${index}]"
                        non_repeating_flags=("${non_repeating_flags[@]}")
                        not_found=false
                        break
                    fi
                done
                if "${not_found}"; then
                    for index in "${!non_repeating_flags[@]}"; do
                        if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                            unset "non_repeating_flags[${index}]"
                            non_repeating_flags=("${non_repeating_flags[@]}")
                            break
                        fi
                    done
                fi
                unset "unparsed_words[${word_index}]"
                continue
                ;;
            esac
        fi

        # ${word} is neither a flag, nor an option, nor an option value
        if [[ "${positional_number}" -lt "${positional_count}" || "${positional_count}" -lt 0 ]]; then
            # ${word} is a positional
            ((positional_number++))
            unset "unparsed_words[${word_index}]"
        else
            if [[ -z "${word}" ]]; then
                # Could be completing a flag, option, or subcommand
                positional_number=-1
            else
                # ${word} is a subcommand or invalid, so stop processing this (sub)command
                positional_number=-2
            fi
            break
        fi
    done

    unparsed_words=("${unparsed_words[@]}")

    if\
        ! "${was_flag_option_terminator_seen}"\
        && ! "${is_parsing_option_value}"\
        && [[ ("${cur}" = -* && "${positional_number}" -ge 0) || "${positional_number}" -eq -1 ]]
    then
        COMPREPLY+=($(compgen -W "${repeating_flags[*]} ${non_repeating_flags[*]} ${repeating_options[*]} ${non_repeating_options[*]}" -- "${cur}"))
    fi
}

__dlctl_add_completions() {
    local completion
    while IFS='' read -r completion; do
        COMPREPLY+=("${completion}")
    done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
}

__dlctl_custom_complete() {
    if [[ -n "${cur}" || -z ${COMP_WORDS[${COMP_CWORD}]} || "${COMP_LINE:${COMP_POINT}:1}" != ' ' ]]; then
        local -ar words=("${COMP_WORDS[@]}")
    else
        local -ar words=("${COMP_WORDS[@]::${COMP_CWORD}}" '' "${COMP_WORDS[@]:${COMP_CWORD}}")
    fi

    "${COMP_WORDS[0]}" "${@}" "${words[@]}"
}

_dlctl() {
    local state
    state="$(shopt -p;shopt -po)"
    trap "${state//$'\n'/;}" RETURN
    shopt -s extglob
    set +o history +o posix

    local -xr SAP_SHELL=bash
    local -x SAP_SHELL_VERSION
    SAP_SHELL_VERSION="$(IFS='.';printf %s "${BASH_VERSINFO[*]}")"
    local -r SAP_SHELL_VERSION

    local -r cur="${2}"
    local -r prev="${3}"

    local -i positional_number
    local -a unparsed_words=("${COMP_WORDS[@]:1:${COMP_CWORD}}")

    local -a repeating_flags=()
    local -a non_repeating_flags=(--version -h --help)
    local -a repeating_options=()
    local -a non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    add|upload|fetch|update|list|show|explain|watch|wait|events|decisions|pause|resume|cancel|retry|remove|answer|web|browser|notify|session|cookies|credential|hsts|trust|cache|limit|settings|stats|metrics|info|start|stop|help)
        # Offer subcommand argument completions
        "_dlctl_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'add upload fetch update list show explain watch wait events decisions pause resume cancel retry remove answer web browser notify session cookies credential hsts trust cache limit settings stats metrics info start stop help' -- "${cur}"))
        ;;
    esac
}

_dlctl_add() {
    repeating_flags=()
    non_repeating_flags=(-g --globoff -w --wait --resume-unproven --preserve-time --paused --password-stdin --netrc --accept-any-status --not-metered --not-cellular --not-low-data --discretionary --anyway --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(-i --input --metalink -o --output --mirror --tag --attribute -H --header)
    non_repeating_options=(--cookies -d --directory --on-conflict --checksum -x --connections --resume-data -s --session --priority --limit --at --deadline --retry --timeout --max-time --description --client-token -A --user-agent --referer -u --user --password-file --bearer-file --bearer-env --netrc-file --proxy --proxy-file --interface --ca-file --cert --key --tls-min --http-version --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '-i'|'--input')
        __dlctl_add_completions -f
        return
        ;;
    '--metalink')
        __dlctl_add_completions -f
        return
        ;;
    '--cookies')
        __dlctl_add_completions -f
        return
        ;;
    '-o'|'--output')
        __dlctl_add_completions -f
        return
        ;;
    '-d'|'--directory')
        __dlctl_add_completions -d
        return
        ;;
    '--on-conflict')
        __dlctl_add_completions -W 'rename'$'\n''overwrite'$'\n''fail'
        return
        ;;
    '--checksum')
        return
        ;;
    '--mirror')
        return
        ;;
    '-x'|'--connections')
        return
        ;;
    '--resume-data')
        __dlctl_add_completions -f
        return
        ;;
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion add -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--priority')
        __dlctl_add_completions -W 'low'$'\n''normal'$'\n''high'
        return
        ;;
    '--limit')
        return
        ;;
    '--at')
        return
        ;;
    '--deadline')
        return
        ;;
    '--retry')
        return
        ;;
    '--timeout')
        return
        ;;
    '--max-time')
        return
        ;;
    '--description')
        return
        ;;
    '--tag')
        return
        ;;
    '--attribute')
        return
        ;;
    '--client-token')
        return
        ;;
    '-H'|'--header')
        return
        ;;
    '-A'|'--user-agent')
        return
        ;;
    '--referer')
        return
        ;;
    '-u'|'--user')
        return
        ;;
    '--password-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-env')
        return
        ;;
    '--netrc-file')
        __dlctl_add_completions -f
        return
        ;;
    '--proxy')
        return
        ;;
    '--proxy-file')
        __dlctl_add_completions -f
        return
        ;;
    '--interface')
        return
        ;;
    '--ca-file')
        __dlctl_add_completions -f
        return
        ;;
    '--cert')
        __dlctl_add_completions -f
        return
        ;;
    '--key')
        __dlctl_add_completions -f
        return
        ;;
    '--tls-min')
        __dlctl_add_completions -W '1.0'$'\n''1.1'$'\n''1.2'$'\n''1.3'
        return
        ;;
    '--http-version')
        __dlctl_add_completions -W '1.1'$'\n''2'
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_upload() {
    repeating_flags=()
    non_repeating_flags=(-w --wait --optimistic --paused --password-stdin --netrc --accept-any-status --not-metered --not-cellular --not-low-data --discretionary --anyway --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--field --metadata --tag --attribute -H --header)
    non_repeating_options=(--protocol -X --method --form --file-name --content-type --interop-version --send-checksum --s3 -s --session --priority --limit --at --deadline --retry --timeout --max-time --description --client-token -A --user-agent --referer -u --user --password-file --bearer-file --bearer-env --netrc-file --proxy --proxy-file --interface --ca-file --cert --key --tls-min --http-version --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--protocol')
        __dlctl_add_completions -W 'auto'$'\n''put'$'\n''post'$'\n''multipart'$'\n''tus'$'\n''resumable'$'\n''contentRange'$'\n''s3Multipart'
        return
        ;;
    '-X'|'--method')
        return
        ;;
    '--form')
        return
        ;;
    '--field')
        return
        ;;
    '--file-name')
        return
        ;;
    '--content-type')
        return
        ;;
    '--metadata')
        return
        ;;
    '--interop-version')
        return
        ;;
    '--send-checksum')
        __dlctl_add_completions -W 'md5'$'\n''sha-1'$'\n''sha-256'$'\n''sha-384'$'\n''sha-512'
        return
        ;;
    '--s3')
        __dlctl_add_completions -f
        return
        ;;
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion upload -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--priority')
        __dlctl_add_completions -W 'low'$'\n''normal'$'\n''high'
        return
        ;;
    '--limit')
        return
        ;;
    '--at')
        return
        ;;
    '--deadline')
        return
        ;;
    '--retry')
        return
        ;;
    '--timeout')
        return
        ;;
    '--max-time')
        return
        ;;
    '--description')
        return
        ;;
    '--tag')
        return
        ;;
    '--attribute')
        return
        ;;
    '--client-token')
        return
        ;;
    '-H'|'--header')
        return
        ;;
    '-A'|'--user-agent')
        return
        ;;
    '--referer')
        return
        ;;
    '-u'|'--user')
        return
        ;;
    '--password-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-env')
        return
        ;;
    '--netrc-file')
        __dlctl_add_completions -f
        return
        ;;
    '--proxy')
        return
        ;;
    '--proxy-file')
        __dlctl_add_completions -f
        return
        ;;
    '--interface')
        return
        ;;
    '--ca-file')
        __dlctl_add_completions -f
        return
        ;;
    '--cert')
        __dlctl_add_completions -f
        return
        ;;
    '--key')
        __dlctl_add_completions -f
        return
        ;;
    '--tls-min')
        __dlctl_add_completions -W '1.0'$'\n''1.1'$'\n''1.2'$'\n''1.3'
        return
        ;;
    '--http-version')
        __dlctl_add_completions -W '1.1'$'\n''2'
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_fetch() {
    repeating_flags=()
    non_repeating_flags=(-f --fail --paused --password-stdin --netrc --accept-any-status --not-metered --not-cellular --not-low-data --discretionary --anyway --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--tag --attribute -H --header)
    non_repeating_options=(-X --method -d --data -o --output -s --session --priority --limit --at --deadline --retry --timeout --max-time --description --client-token -A --user-agent --referer -u --user --password-file --bearer-file --bearer-env --netrc-file --proxy --proxy-file --interface --ca-file --cert --key --tls-min --http-version --socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '-X'|'--method')
        return
        ;;
    '-d'|'--data')
        __dlctl_add_completions -f
        return
        ;;
    '-o'|'--output')
        __dlctl_add_completions -f
        return
        ;;
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion fetch -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--priority')
        __dlctl_add_completions -W 'low'$'\n''normal'$'\n''high'
        return
        ;;
    '--limit')
        return
        ;;
    '--at')
        return
        ;;
    '--deadline')
        return
        ;;
    '--retry')
        return
        ;;
    '--timeout')
        return
        ;;
    '--max-time')
        return
        ;;
    '--description')
        return
        ;;
    '--tag')
        return
        ;;
    '--attribute')
        return
        ;;
    '--client-token')
        return
        ;;
    '-H'|'--header')
        return
        ;;
    '-A'|'--user-agent')
        return
        ;;
    '--referer')
        return
        ;;
    '-u'|'--user')
        return
        ;;
    '--password-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-env')
        return
        ;;
    '--netrc-file')
        __dlctl_add_completions -f
        return
        ;;
    '--proxy')
        return
        ;;
    '--proxy-file')
        __dlctl_add_completions -f
        return
        ;;
    '--interface')
        return
        ;;
    '--ca-file')
        __dlctl_add_completions -f
        return
        ;;
    '--cert')
        __dlctl_add_completions -f
        return
        ;;
    '--key')
        __dlctl_add_completions -f
        return
        ;;
    '--tls-min')
        __dlctl_add_completions -W '1.0'$'\n''1.1'$'\n''1.2'$'\n''1.3'
        return
        ;;
    '--http-version')
        __dlctl_add_completions -W '1.1'$'\n''2'
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion fetch -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_update() {
    repeating_flags=()
    non_repeating_flags=(--password-stdin --netrc --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--mirror -H --header --attribute)
    non_repeating_options=(--url --s3 -o --output -d --directory --on-conflict --checksum --proxy --interface --ca-file --priority --limit --description --at --deadline --position -u --user --password-file --bearer-file --bearer-env --netrc-file --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--url')
        return
        ;;
    '--s3')
        __dlctl_add_completions -f
        return
        ;;
    '--mirror')
        return
        ;;
    '-o'|'--output')
        __dlctl_add_completions -f
        return
        ;;
    '-d'|'--directory')
        __dlctl_add_completions -d
        return
        ;;
    '--on-conflict')
        __dlctl_add_completions -W 'rename'$'\n''overwrite'$'\n''fail'
        return
        ;;
    '--checksum')
        return
        ;;
    '--proxy')
        return
        ;;
    '--interface')
        return
        ;;
    '--ca-file')
        __dlctl_add_completions -f
        return
        ;;
    '--priority')
        return
        ;;
    '--limit')
        return
        ;;
    '-H'|'--header')
        return
        ;;
    '--description')
        return
        ;;
    '--attribute')
        return
        ;;
    '--at')
        return
        ;;
    '--deadline')
        return
        ;;
    '--position')
        return
        ;;
    '-u'|'--user')
        return
        ;;
    '--password-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-file')
        __dlctl_add_completions -f
        return
        ;;
    '--bearer-env')
        return
        ;;
    '--netrc-file')
        __dlctl_add_completions -f
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion update -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_list() {
    repeating_flags=()
    non_repeating_flags=(--all --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--state)
    non_repeating_options=(-s --session --match -n --limit --owner --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--state')
        __dlctl_add_completions -W 'queued'$'\n''running'$'\n''waiting'$'\n''paused'$'\n''completed'$'\n''failed'$'\n''cancelled'
        return
        ;;
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion list -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--match')
        return
        ;;
    '-n'|'--limit')
        return
        ;;
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion list -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_show() {
    repeating_flags=()
    non_repeating_flags=(--secrets --timing --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion show -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_explain() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion explain -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_watch() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--owner --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion watch -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_wait() {
    repeating_flags=()
    non_repeating_flags=(--all --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(-s --session --timeout --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion wait -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--timeout')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion wait -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_events() {
    repeating_flags=()
    non_repeating_flags=(--follow -f --no-progress --forget --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--type --task -s --session)
    non_repeating_options=(--after --subscriber -n --limit --owner --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--after')
        return
        ;;
    '--subscriber')
        return
        ;;
    '--type')
        __dlctl_add_completions -W 'task.added'$'\n''task.started'$'\n''task.redirected'$'\n''task.response'$'\n''task.resumed'$'\n''task.restarted'$'\n''task.progress'$'\n''task.waiting'$'\n''task.decision'$'\n''task.paused'$'\n''task.queued'$'\n''task.updated'$'\n''task.completed'$'\n''task.failed'$'\n''task.cancelled'$'\n''task.removed'$'\n''session.opened'$'\n''session.paused'$'\n''session.resumed'$'\n''session.drained'$'\n''session.invalidated'$'\n''settings.changed'$'\n''events.lagged'
        return
        ;;
    '--task')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion events -- --task "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion events -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '-n'|'--limit')
        return
        ;;
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_decisions() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(-s --session --owner --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion decisions -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_pause() {
    repeating_flags=()
    non_repeating_flags=(--all --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--state)
    non_repeating_options=(-s --session --owner --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion pause -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--state')
        __dlctl_add_completions -W 'queued'$'\n''running'$'\n''waiting'$'\n''paused'$'\n''completed'$'\n''failed'$'\n''cancelled'
        return
        ;;
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion pause -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_resume() {
    repeating_flags=()
    non_repeating_flags=(--all --anyway --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--state)
    non_repeating_options=(-s --session --owner --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion resume -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--state')
        __dlctl_add_completions -W 'queued'$'\n''running'$'\n''waiting'$'\n''paused'$'\n''completed'$'\n''failed'$'\n''cancelled'
        return
        ;;
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion resume -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_cancel() {
    repeating_flags=()
    non_repeating_flags=(--all --keep-partial --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--state)
    non_repeating_options=(-s --session --owner --resume-data --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion cancel -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--state')
        __dlctl_add_completions -W 'queued'$'\n''running'$'\n''waiting'$'\n''paused'$'\n''completed'$'\n''failed'$'\n''cancelled'
        return
        ;;
    '--owner')
        return
        ;;
    '--resume-data')
        __dlctl_add_completions -f
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion cancel -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_retry() {
    repeating_flags=()
    non_repeating_flags=(--all --source-changed --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--state)
    non_repeating_options=(-s --session --owner --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion retry -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--state')
        __dlctl_add_completions -W 'queued'$'\n''running'$'\n''waiting'$'\n''paused'$'\n''completed'$'\n''failed'$'\n''cancelled'
        return
        ;;
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion retry -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_remove() {
    repeating_flags=()
    non_repeating_flags=(--all --delete --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(--state)
    non_repeating_options=(-s --session --owner --socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion remove -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--state')
        __dlctl_add_completions -W 'queued'$'\n''running'$'\n''waiting'$'\n''paused'$'\n''completed'$'\n''failed'$'\n''cancelled'
        return
        ;;
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion remove -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_answer() {
    repeating_flags=()
    non_repeating_flags=(--password-stdin --for-session --system --json --quiet -q --no-start --version -h --help)
    repeating_options=(-H --header)
    non_repeating_options=(-u --user --certificate --key --persistence --password-file --url -X --method -o --output --socket)
    __dlctl_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '-u'|'--user')
        return
        ;;
    '--certificate')
        __dlctl_add_completions -f
        return
        ;;
    '--key')
        __dlctl_add_completions -f
        return
        ;;
    '--persistence')
        __dlctl_add_completions -W 'none'$'\n''session'$'\n''permanent'
        return
        ;;
    '--password-file')
        __dlctl_add_completions -f
        return
        ;;
    '--url')
        return
        ;;
    '-X'|'--method')
        return
        ;;
    '-H'|'--header')
        return
        ;;
    '-o'|'--output')
        __dlctl_add_completions -f
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    2)
        __dlctl_add_completions -W 'useCredential'$'\n''performDefaultHandling'$'\n''rejectProtectionSpace'$'\n''trust'$'\n''cancel'$'\n''follow'$'\n''followWith'$'\n''refuse'$'\n''allow'$'\n''becomeDownload'$'\n''continue'$'\n''newRequest'$'\n''store'$'\n''memoryOnly'$'\n''doNotStore'
        return
        ;;
    esac
}

_dlctl_web() {
    repeating_flags=()
    non_repeating_flags=(--open --list --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--revoke --socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--revoke')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion web -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_browser() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    install|status|remove)
        # Offer subcommand argument completions
        "_dlctl_browser_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'install status remove' -- "${cur}"))
        ;;
    esac
}

_dlctl_browser_install() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--as --browser --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--as')
        __dlctl_add_completions -W 'persepolis'$'\n''gopeed'
        return
        ;;
    '--browser')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_browser_status() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--browser --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--browser')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_browser_remove() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--as --browser --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--as')
        __dlctl_add_completions -W 'persepolis'$'\n''gopeed'
        return
        ;;
    '--browser')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_notify() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_session() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    open|list|show|set|pause|resume|finish|invalidate)
        # Offer subcommand argument completions
        "_dlctl_session_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'open list show set pause resume finish invalidate' -- "${cur}"))
        ;;
    esac
}

_dlctl_session_open() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion session open -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_session_list() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--owner --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--owner')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_session_show() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion session show -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_session_set() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion session set -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_session_pause() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion session pause -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_session_resume() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion session resume -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_session_finish() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion session finish -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_session_invalidate() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion session invalidate -- positional@0 "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_dlctl_cookies() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    list|import|export|remove)
        # Offer subcommand argument completions
        "_dlctl_cookies_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'list import export remove' -- "${cur}"))
        ;;
    esac
}

_dlctl_cookies_list() {
    repeating_flags=()
    non_repeating_flags=(--secrets --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(-s --session --domain --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion cookies list -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--domain')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_cookies_import() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(-s --session --domain --socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion cookies import -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--domain')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_cookies_export() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(-s --session --domain --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion cookies export -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--domain')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_cookies_remove() {
    repeating_flags=()
    non_repeating_flags=(--all --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(-s --session --domain --path --name --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion cookies remove -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--domain')
        return
        ;;
    '--path')
        return
        ;;
    '--name')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_credential() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    add|list|remove)
        # Offer subcommand argument completions
        "_dlctl_credential_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'add list remove' -- "${cur}"))
        ;;
    esac
}

_dlctl_credential_add() {
    repeating_flags=()
    non_repeating_flags=(--proxy --password-stdin --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--realm -s --session --username --password-file --socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--realm')
        return
        ;;
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion credential add -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--username')
        return
        ;;
    '--password-file')
        __dlctl_add_completions -f
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_credential_list() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(-s --session --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion credential list -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_credential_remove() {
    repeating_flags=()
    non_repeating_flags=(--proxy --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--realm -s --session --username --socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--realm')
        return
        ;;
    '-s'|'--session')
        __dlctl_add_completions -W "$(__dlctl_custom_complete ---completion credential remove -- --session "${COMP_CWORD}" "$(__dlctl_cursor_index_in_current_word)")"
        return
        ;;
    '--username')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_hsts() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    list|remove)
        # Offer subcommand argument completions
        "_dlctl_hsts_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'list remove' -- "${cur}"))
        ;;
    esac
}

_dlctl_hsts_list() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--domain --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--domain')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_hsts_remove() {
    repeating_flags=()
    non_repeating_flags=(--all --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_trust() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    list|remove)
        # Offer subcommand argument completions
        "_dlctl_trust_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'list remove' -- "${cur}"))
        ;;
    esac
}

_dlctl_trust_list() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--host --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--host')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_trust_remove() {
    repeating_flags=()
    non_repeating_flags=(--all --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_cache() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    info|remove)
        # Offer subcommand argument completions
        "_dlctl_cache_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'info remove' -- "${cur}"))
        ;;
    esac
}

_dlctl_cache_info() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--storage --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--storage')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_cache_remove() {
    repeating_flags=()
    non_repeating_flags=(--all --system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--storage --url --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--storage')
        return
        ;;
    '--url')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_limit() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--down --up --tasks --per-host --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--down')
        return
        ;;
    '--up')
        return
        ;;
    '--tasks')
        return
        ;;
    '--per-host')
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_settings() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __dlctl_add_completions -W 'maximumConcurrentTasks'$'\n''maximumConcurrentTasksPerHost'$'\n''maximumConcurrentTasksPerUser'$'\n''maximumQueuedTasksPerUser'$'\n''downloadRateLimit'$'\n''uploadRateLimit'$'\n''minimumFreeSpace'$'\n''historyRetention'$'\n''eventRetention'$'\n''eventRetentionCount'$'\n''progressInterval'$'\n''diskPollInterval'$'\n''credentialHelper'$'\n''lowDataMode'$'\n''keepsAwake'
        return
        ;;
    esac
}

_dlctl_stats() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_metrics() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--output --socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--output')
        __dlctl_add_completions -f
        return
        ;;
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_info() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_start() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_stop() {
    repeating_flags=()
    non_repeating_flags=(--system --json --quiet -q --no-start --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __dlctl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        __dlctl_add_completions -f
        return
        ;;
    esac
}

_dlctl_help() {
    repeating_flags=()
    non_repeating_flags=(--version)
    repeating_options=()
    non_repeating_options=()
    __dlctl_offer_flags_options -1
}

complete -o filenames -F _dlctl dlctl