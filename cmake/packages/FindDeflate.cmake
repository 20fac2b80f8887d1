enable_language(C)
set(folder "${PT2_LIBRARY_SOURCES}/libdeflate")
add_library(deflate STATIC "${folder}/lib/utils.c" "${folder}/lib/deflate_compress.c" "${folder}/lib/deflate_decompress.c"
  "${folder}/lib/crc32.c" "${folder}/lib/arm/cpu_features.c" "${folder}/lib/x86/cpu_features.c")
target_include_directories(deflate SYSTEM PUBLIC "${folder}")
add_library(Deflate::Deflate ALIAS deflate)
set(Deflate_FOUND TRUE)
