add_library(cli11 INTERFACE)
target_include_directories(cli11 SYSTEM INTERFACE "${PT2_LIBRARY_SOURCES}/include")
add_library(CLI11::CLI11 ALIAS cli11)
set(CLI11_FOUND TRUE)
