add_library(simdjson STATIC "${PT2_LIBRARY_SOURCES}/simdjson/singleheader/simdjson.cpp")
target_include_directories(simdjson SYSTEM PUBLIC "${PT2_LIBRARY_SOURCES}/simdjson/singleheader")
add_library(simdjson::simdjson ALIAS simdjson)
set(simdjson_FOUND TRUE)
