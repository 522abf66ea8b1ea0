#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Are recording and replay really parallel, and is interleaving alive? Only that part of run.py.
exec python3 "$(dirname "$0")/run.py" --only parallel "$@"
