#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make bench; see run.py --help.
exec python3 "$(dirname "$0")/run.py" "$@"
