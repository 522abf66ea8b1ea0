#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make soak; see soak.py --help.
exec python3 "$(dirname "$0")/soak.py" "$@"
