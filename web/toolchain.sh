#!/usr/bin/env bash
# Adds what compiles the command for WebAssembly to build/zig-tools: compilers with settings of their own, and a C++ runtime
# with exceptions. ./dev web calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/zig_tools.sh

# What zig sets for WASI leaves out threads, files and exceptions, so libc++ is compiled with a configuration of its own.
# Its threads are those of wasi-libc, which cannot be started.
settings="-D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1 -D_LIBCPP_HAS_THREADS=1 -D_LIBCPP_HAS_THREAD_API_PTHREAD=1"
for absent in THREAD_API_EXTERNAL THREAD_API_WIN32 THREAD_API_C11 TERMINAL VENDOR_AVAILABILITY_ANNOTATIONS \
    TIME_ZONE_DATABASE; do
  settings+=" -D_LIBCPP_HAS_$absent=0"
done
for present in MONOTONIC_CLOCK MUSL_LIBC FILESYSTEM RANDOM_DEVICE LOCALIZATION UNICODE WIDE_CHARACTERS; do
  settings+=" -D_LIBCPP_HAS_$present=1"
done
settings+=" -D_LIBCPP_INSTRUMENTED_WITH_ASAN=0 -D_LIBCPP_LIBC_NEWLIB=0 -D_LIBCPP_PSTL_BACKEND_SERIAL"
settings+=" -D_LIBCPP_HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE"
settings+=" -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE"
settings+=" -D_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS -D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS"

# What engines have had since 2022.
target="-target wasm32-wasi -mcpu=lime1+exception_handling+simd128"
headers="-I$zig/lib/libcxx/include -I$zig/lib/libcxxabi/include"
compiler wasm-clang "cc $target -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_GETPID"
compiler wasm-clang++ "cc $target -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_GETPID $headers $settings -fwasm-exceptions -fexperimental-library"

# The C++ runtime with exceptions.
runtime=$tools/wasm-runtime
if [ ! -f "$runtime/libcxx.a" ]; then
  mkdir -p "$runtime"
  lib=$zig/lib
  includes="-I$lib/libcxx/src -I$lib/libcxxabi/src -I$lib/libunwind/include -I$lib/libcxx/libc"
  defines="-D_LIBCPP_BUILDING_LIBRARY -D_LIBCXXABI_BUILDING_LIBRARY -DLIBCXX_BUILDING_LIBCXXABI -D__WASM_EXCEPTIONS__ -DLIBCXXABI_NON_DEMANGLING_TERMINATE"
  {
    ls "$lib"/libcxx/src/*.cpp "$lib"/libcxx/src/filesystem/*.cpp "$lib"/libcxx/src/ryu/*.cpp | grep -v int128_builtins
    # Not the demangler, which only the message of an uncaught exception would need.
    ls "$lib"/libcxxabi/src/*.cpp | grep -vE 'cxa_(noexception|demangle)'
  } >"$runtime/sources"
  xargs -P "$(nproc)" -I{} sh -c 'name=$(echo "{}" | md5sum | cut -c1-12)
    # Its copy_file_range is that of musl on Linux.
    case {} in *operations.cpp) more=-D_LIBCPP_HAS_MUSL_LIBC=0 ;; *) more= ;; esac
    "$0" -std=c++23 -Oz -w -ffunction-sections $1 $2 -DNDEBUG $more -c "{}" -o "$3/$name.o"' \
    "$tools/bin/wasm-clang++" "$includes" "$defines" "$runtime" <"$runtime/sources"
  "$tools/bin/wasm-clang" -Oz -w -fwasm-exceptions -fdeclspec -D__WASM_EXCEPTIONS__ -I"$lib/libunwind/include" \
    -c "$lib/libunwind/src/Unwind-wasm.c" -o "$runtime/unwind.o"
  # Engines tell C++ exceptions by this tag; zig's unwinder leaves it to whoever links.
  printf '.globl __cpp_exception\n.tagtype __cpp_exception i32\n__cpp_exception:\n' >"$runtime/tag.s"
  "$tools/bin/wasm-clang" -c "$runtime/tag.s" -o "$runtime/tag.o"
  "$tools/bin/ar" rcs "$runtime/libcxx.a" "$runtime"/*.o
fi
