# shellcheck shell=bash
# Boots containers with a systemd of their own, and runs trials in them. A script sources this file after lib.sh and
# make_work_folder. Trials see $WORK/share as /check and $WORK/result as /check-result.
mkdir -p "$WORK/share" "$WORK/result"
cat >"$WORK/dld-check.service" <<'END'
[Unit]
Description=Trial of dld
After=basic.target systemd-journald.service
Wants=systemd-journald.service
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
ExecStart=/bin/bash /check/trial
StandardOutput=file:/check-result/log
StandardError=inherit
TimeoutStartSec=600
END

# Runs a command in its own mount namespace, without loop devices and FUSE file systems. Otherwise disks that other attacks
# use at the same time would stay mounted here.
# shellcheck disable=SC2016
ALONE='awk "\$1 ~ /^.dev.loop/ || \$3 ~ /^fuse/ { print \$2 }" /proc/self/mounts | xargs -r -n 1 umount --lazy; exec "$@"'

# The options for the root of the container, and the target of its boot.
DISK=()
TARGET=(systemd.unit=multi-user.target systemd.wants=dld-check.service)

# Boots the container in the background, with a program of /check as its trial. Sets NSPAWN to the process id:
# boot TRIAL OPTION…
boot() {
    rm -f "$WORK/result/log"
    printf '#!/bin/bash\nexec /check/%s\n' "$1" >"$WORK/share/trial"
    timeout --kill-after=10 660 unshare --mount sh -c "$ALONE" sh systemd-nspawn --quiet "${DISK[@]}" --private-network \
        --machine="dld-check-$$" --register=no --keep-unit --console=pipe \
        --bind-ro="$WORK/share:/check" --bind="$WORK/result:/check-result" "${@:2}" \
        --bind-ro="$WORK/dld-check.service:/etc/systemd/system/dld-check.service" \
        --boot "${TARGET[@]}" systemd.log_level=warning </dev/null >"$WORK/console" 2>&1 &
    NSPAWN=$!
}
# Waits for the end of the trial, and fails if the trial has not passed.
finish() {
    local status=0
    wait "$NSPAWN" || status=$?
    cat "$WORK/result/log" 2>/dev/null || cat "$WORK/console"
    grep -q '^all passed$' "$WORK/result/log" 2>/dev/null || fail "the trial under systemd failed (status $status)"
}

# Makes a Debian that has nothing but its base, from this machine's sources of packages:
# make_bare_debian RELEASE FOLDER OPTION…
make_bare_debian() {
    local release=$1 root=$2 file sources=()
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
        if grep -qsE "(^|[[:space:]])$release([[:space:]/]|\$)" "$file"; then sources+=("$file"); fi
    done
    ((${#sources[@]})) || fail "no source of apt has Debian $release"
    mmdebstrap --quiet --variant=minbase "${@:3}" "$release" "$root" "${sources[@]}"
}
