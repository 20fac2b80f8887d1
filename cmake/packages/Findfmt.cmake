add_library(fmt STATIC "${PT2_LIBRARY_SOURCES}/fmtlib/src/format.cc")
target_include_directories(fmt SYSTEM PUBLIC "${PT2_LIBRARY_SOURCES}/fmtlib/include")
add_library(fmt::fmt ALIAS fmt)
set(fmt_FOUND TRUE)
