# shellcheck shell=bash
# Sourced by scripts whose tests are written in Python.

# Runs Python tests that drive programs of .build/debug, or of the folder DLD_BINARIES: python_tests FOLDER PROGRAMS ARGUMENTS…
python_tests() {
    local folder=$1 program
    export PYTHONDONTWRITEBYTECODE=1 DLD_REQUIRE_SERVERS=1
    DLD_BINARIES=$(readlink -f "${DLD_BINARIES:-.build/debug}")
    export DLD_BINARIES
    for program in $2; do
        [[ -x $DLD_BINARIES/$program ]] || fail "$DLD_BINARIES/$program is missing: build it, or name its folder in DLD_BINARIES"
    done
    shift 2
    [[ -x .testenv/bin/python3 ]] || scripts/install-test-dependencies
    PATH=$PWD/.testenv/bin:$PATH
    make_work_folder
    chmod 1777 "$WORK"
    export TMPDIR=$WORK
    cd "$folder"
    timeout --kill-after=10 "${DLD_TEST_TIMEOUT:-900}" python3 -W error -m unittest discover "$@"
    require_nothing_left
}
