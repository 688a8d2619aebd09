# shellcheck shell=bash
# Functions that the scripts share. A script sources this file, which sets strict shell options and changes to the top of
# the checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Runs a command up to three times, because package servers fail now and then.
retry() {
    local attempt
    for attempt in 1 2 3; do
        "$@" && return 0
        ((attempt == 3)) || sleep $((attempt * 5))
    done
    return 1
}

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "root's rights are needed for: $*"
    fi
}

# Installs the given Debian packages if they are missing. Their services stay stopped and disabled: the tests start
# servers themselves, on free ports and with their own configurations.
apt_install() {
    command -v apt-get >/dev/null || fail "install these Debian packages' counterparts first: $*"
    local package installed missing=()
    installed=$(dpkg-query -W -f '/${Package} ${Status}/' "$@" 2>/dev/null || true)
    for package in "$@"; do
        [[ $installed == *"/$package install ok installed/"* ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    say "Installing ${missing[*]}"
    local guard=/usr/sbin/policy-rc.d guarded=""
    if [[ ! -e $guard ]]; then
        guarded=yes
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$guard" >/dev/null
        as_root chmod 755 "$guard"
    fi
    local status=0
    retry as_root apt-get update -qq || status=$?
    retry as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || status=$?
    [[ -z $guarded ]] || as_root rm -f "$guard"
    disable_services "${missing[@]}"
    return "$status"
}

# Installs the packages that the given uses need (scripts/programs.txt), and those that every script needs:
# install_programs test torture
install_programs() {
    local program package uses use packages=()
    while read -r program package uses; do
        [[ -n $program && $program != "#"* && $package != - ]] || continue
        for use in any build "$@"; do
            [[ ,$uses, != *,$use,* || " ${packages[*]} " == *" $package "* ]] || packages+=("$package")
        done
    done <scripts/programs.txt
    apt_install "${packages[@]}"
}

# Prevents services of newly installed packages from starting at the next boot.
disable_services() {
    [[ -d /run/systemd/system ]] || return 0
    local package unit
    for package in "$@"; do
        while read -r unit; do
            as_root systemctl disable --quiet "${unit##*/}" 2>/dev/null || true
        done < <(dpkg -L "$package" 2>/dev/null | grep -E '^(/usr)?/lib/systemd/system/[^@/]+\.service$' || true)
    done
}

# Builds both programs, unless DLD_BINARIES names a folder that has them. Sets BIN to their folder.
build_programs() {
    BIN=${DLD_BINARIES:-}
    [[ -z $BIN ]] || return 0
    scripts/install-build-dependencies
    say "Building"
    swift build --product dld
    swift build --product dlctl
    BIN=$(swift build --show-bin-path)
}

# Sets `width` to the options that bound how many tests run at once. If all ran at once, each would get so little of the
# processor that waits would time out.
bound_tests() {
    width=()
    if [[ $(swift test --help-hidden) == *--experimental-maximum-parallelization-width* ]]; then
        width=(--experimental-maximum-parallelization-width "${DLD_TEST_WIDTH:-8}")
    fi
}

# Makes a folder that is removed when the script ends, and sets WORK to it. `at_end` adds commands that run before the
# removal.
END_COMMANDS=()
at_end() { END_COMMANDS+=("$1"); }
run_end_commands() {
    local status=$? index
    trap - EXIT INT TERM
    for ((index = ${#END_COMMANDS[@]} - 1; index >= 0; index--)); do eval "${END_COMMANDS[index]}" || true; done
    exit "$status"
}
make_work_folder() {
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/dld-XXXXXX")
    at_end "rm -rf '$WORK'"
    trap run_end_commands EXIT
    trap 'exit 130' INT TERM
}

# Prints the processes and files that a run with WORK as its TMPDIR has left. Other runs are not looked at. SwiftPM's own
# folders and locks do not count.
left_behind() {
    local process known
    for process in /proc/[0-9]*; do
        known=$({ cat "$process"/{cmdline,environ} && readlink "$process/cwd"; } 2>/dev/null | tr '\0' ' ') || true
        [[ $known != *"$WORK"* ]] || echo "process ${process#/proc/}: $(tr '\0' ' ' 2>/dev/null <"$process/cmdline")"
    done
    find "$WORK" -mindepth 1 -maxdepth 1 ! -name 'TemporaryDirectory.*' ! -name '_*.lock'
}

# Fails if they do not go within some seconds.
require_nothing_left() {
    # What this function starts does not count.
    unset TMPDIR
    wait_until "${DLD_LEFT_PATIENCE:-10}" nothing_left || fail "The tests left behind:"$'\n'"$(left_behind)"
}
nothing_left() { [[ -z $(left_behind) ]]; }

# Ends a process that the script started, and waits until it is gone.
end_process() {
    kill "$1" 2>/dev/null || return 0
    wait_until 10 gone "$1" || kill -9 "$1"
}
gone() { ! kill -0 "$1" 2>/dev/null; }

# Waits until a command succeeds, at most the given number of seconds.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || return 1
        sleep 0.05
    done
}
