#!/bin/sh
# ccache.sh CCACHE COMPILER ARGUMENT...: a compiler's launcher.
# Without these ccache takes no source that uses a precompiled header.
export CCACHE_SLOPPINESS=pch_defines,time_macros
# A header that is precompiled anew must not find the one that it replaces: the preprocessor, which
# ccache asks what the header includes, would read that one, and ccache answer with whatever once
# followed it.
before=
for argument; do
  case "$before $argument" in "-o "*.gch) rm -f "$argument" ;; esac
  before=$argument
done
exec "$@"
