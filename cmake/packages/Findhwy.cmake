add_library(hwy INTERFACE)
target_include_directories(hwy SYSTEM INTERFACE "${PT2_LIBRARY_SOURCES}/highway")
add_library(hwy::hwy ALIAS hwy)
set(hwy_FOUND TRUE)
