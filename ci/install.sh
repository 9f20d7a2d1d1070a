#!/bin/sh
# Installs bomgen from its lock files into a new environment: ci/install.sh FOLDER
# The current folder is a checkout with files of strangers: -I keeps Python from importing what lies there. Every package
# is one whose hash the lock files have, the build backend included.
set -eu
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
environment=$1
install() {
    "$environment/bin/python" -I -m pip --disable-pip-version-check --quiet install "$@"
}
python3 -I -m venv "$environment"
install --require-hashes --requirement "$source/requirements/build.txt" --requirement "$source/requirements/run.txt"
install --no-deps --no-build-isolation "$source"
