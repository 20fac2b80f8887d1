# An area is a folder of src/ compiled as one object library. The libraries that users link are made of areas; a
# test links the areas it names and what those use, so a dependency in the wrong direction does not link.

add_library(pt2_options INTERFACE)
# Designated initialisers leave out what keeps its default.
target_compile_options(pt2_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wswitch -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(pt2_options INTERFACE -Wno-restrict)  # GCC 12 finds overlaps in "text" + std::string (PR105651)
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT MSVC)
  # The processors with multiply-add in their base set: each operation is rounded as it is written, everywhere.
  add_compile_options(-ffp-contract=off)
endif()
if(PT2_WARNINGS_AS_ERRORS)
  target_compile_options(pt2_options INTERFACE -Werror)
endif()
if(PT2_SANITIZE)
  add_compile_options(-fsanitize=${PT2_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PT2_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports std::variant and std::optional as maybe uninitialised once sanitizers reshape the code.
    add_compile_options(-Wno-maybe-uninitialized)
    # A quarter of the build goes into these five, and the address sanitizer finds what they find here. The fuzz preset
    # has them all.
    add_compile_options(-fno-sanitize=null,alignment,object-size,vptr,pointer-overflow)
    # The leak check of GCC 12 takes a thread's block of a plug-in for one of glibc 2.19 where it lies 16 bytes into a
    # page, reads its bounds out of the allocator's header, and crashes at exit. There are no such blocks this way.
    add_compile_options(-ftls-model=initial-exec)
  endif()
endif()
find_program(PT2_CCACHE ccache)
if(UNIX AND PT2_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/ccache.sh;${PT2_CCACHE}")
endif()

# The sources of an area are one to the compiler where PT2_UNITY_BUILD is on: most of its time goes into templates that
# they all instantiate. So names at file scope are unique in an area. Folders named by APART are each one by itself, where
# all together would take gigabytes of the compiler's memory. CMake leaves out sources with options of their own.
# PT2_UNITY_SIZE makes units of so many sources instead, and leaves each area to itself.
function(pt2_unite target)
  cmake_parse_arguments(arg "" "" "APART" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    get_filename_component(folder "${folder}" NAME)
    if(NOT folder IN_LIST arg_APART)
      set(folder others)
    endif()
    if(PT2_UNITY_SIZE)
      list(APPEND members_${folder} "${source}")
      list(LENGTH members_${folder} count)
      math(EXPR unit "(${count} - 1) / ${PT2_UNITY_SIZE}")
      string(APPEND folder _${unit})
    endif()
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${folder})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PT2_UNITY_BUILD} UNITY_BUILD_MODE GROUP)
endfunction()
# The same for sources that Highway includes again for each instruction set: one list of a folder's sources is what it
# includes instead. Each source names itself for that, so the list names itself once more at its end.
function(pt2_unite_targets target)
  if(NOT PT2_UNITY_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" again REGEX "define HWY_TARGET_INCLUDE")
    if(again AND NOT pt2_areas_united)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    elseif(again)
      get_filename_component(folder "${source}" DIRECTORY)
      get_filename_component(folder "${folder}" NAME)
      list(APPEND folders ${folder})
      string(APPEND includes_${folder} "#include \"${source}\"\n")
      set_source_files_properties("${source}" PROPERTIES HEADER_FILE_ONLY ON)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    set(united "${PROJECT_BINARY_DIR}/united/${target}_${folder}")
    set(name_it "#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE \"${united}.inc\"\n")
    file(GENERATE OUTPUT "${united}.inc" CONTENT "${includes_${folder}}${name_it}")
    file(GENERATE OUTPUT "${united}.cpp" CONTENT "${name_it}#include <hwy/foreach_target.h>\n#include HWY_TARGET_INCLUDE\n")
    target_sources(${target} PRIVATE "${united}.cpp")
    set_source_files_properties("${united}.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()
if(pt2_areas_united AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC looks for garbage whenever its memory has grown by a third: a tenth of its time, for 300 MB at most.
  add_compile_options(--param=ggc-min-expand=100 --param=ggc-min-heapsize=524288)
endif()

# What most files of an area include is compiled once for it: it takes a compiler longer than most files' own code.
# The fuzz preset compiles without, and so finds an #include that a file lacks; so do united areas, which read them once.

# PRECOMPILED_BY names an area that is compiled with the same options (GCC crashes where only the level of optimisation
# differs) and shares its own. That may hold more than the area may include: a test looks at each #include.

# UNITED_WITH names an area of the same library with the same options, whose unit an area joins where areas are united.

# pt2_area(NAME [UNITED_WITH area | UNITE_APART folder...] [USES area...] [LINK target...]
#   [PRECOMPILE header... | PRECOMPILED_BY area])
function(pt2_area name)
  cmake_parse_arguments(arg "" "PRECOMPILED_BY;UNITED_WITH" "UNITE_APART;USES;LINK;PRECOMPILE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
  if(pt2_areas_united AND arg_UNITED_WITH)
    target_sources(pt2_${arg_UNITED_WITH} PRIVATE ${sources})
    pt2_unite(pt2_${arg_UNITED_WITH})
    set(sources "")
  endif()
  if(NOT sources)
    set(sources "${PROJECT_BINARY_DIR}/empty.cpp")
    if(NOT EXISTS "${sources}")  # written anew, it would be compiled and linked at every configuration
      # Some linkers, and lintian, complain of objects without code.
      file(WRITE "${sources}" "[[gnu::used]] static void joined_another_area() {}\n")
    endif()
  endif()
  add_library(pt2_${name} OBJECT ${sources})
  target_include_directories(pt2_${name} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  pt2_unite(pt2_${name} APART ${arg_UNITE_APART})
  target_link_libraries(pt2_${name} PRIVATE pt2_options)
  target_link_libraries(pt2_${name} PUBLIC ${arg_LINK})
  if(pt2_areas_united)
    # United sources read them once.
  elseif(arg_PRECOMPILED_BY)
    target_precompile_headers(pt2_${name} REUSE_FROM pt2_${arg_PRECOMPILED_BY})
  else()
    target_precompile_headers(pt2_${name} PRIVATE ${arg_PRECOMPILE})
  endif()
  set(closure ${name})
  foreach(used IN LISTS arg_USES)
    target_link_libraries(pt2_${name} PUBLIC ${PT2_LINKS_${used}})
    list(APPEND closure ${PT2_CLOSURE_${used}})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set(PT2_CLOSURE_${name} ${closure} PARENT_SCOPE)
  if(pt2_areas_united AND arg_UNITED_WITH)
    set(PT2_CLOSURE_UNITED ${PT2_CLOSURE_UNITED} ${closure} ${PT2_CLOSURE_${arg_UNITED_WITH}} PARENT_SCOPE)
  endif()
  set(links ${arg_LINK})
  foreach(used IN LISTS arg_USES)
    list(APPEND links ${PT2_LINKS_${used}})
  endforeach()
  list(REMOVE_DUPLICATES links)
  set(PT2_LINKS_${name} ${links} PARENT_SCOPE)
endfunction()

# pt2_library(NAME AREAS area... [DEPENDS library...]) makes pt2::NAME out of whole areas.
function(pt2_library name)
  cmake_parse_arguments(arg "" "" "AREAS;DEPENDS" ${ARGN})
  set(objects "")
  set(links "")
  foreach(area IN LISTS arg_AREAS)
    list(APPEND objects $<TARGET_OBJECTS:pt2_${area}>)
    list(APPEND links ${PT2_LINKS_${area}})
  endforeach()
  list(REMOVE_DUPLICATES links)
  add_library(pt2_lib_${name} ${objects})
  add_library(pt2::${name} ALIAS pt2_lib_${name})
  set_target_properties(pt2_lib_${name} PROPERTIES OUTPUT_NAME pt2_${name} EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX)
  target_include_directories(pt2_lib_${name} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(pt2_lib_${name} PUBLIC cxx_std_20)
  target_link_libraries(pt2_lib_${name} PUBLIC ${links})
  foreach(library IN LISTS arg_DEPENDS)
    target_link_libraries(pt2_lib_${name} PUBLIC pt2_lib_${library})
  endforeach()
endfunction()

# pt2_link_areas(TARGET area...) links a program against exactly these areas and what they use.
function(pt2_link_areas target)
  set(closure "")
  foreach(area IN LISTS ARGN)
    list(APPEND closure ${PT2_CLOSURE_${area}})
  endforeach()
  # An area that others joined needs what these use; what they are lies in its unit.
  list(APPEND closure ${PT2_CLOSURE_UNITED})
  list(REMOVE_DUPLICATES closure)
  target_link_libraries(${target} PRIVATE pt2_options)
  foreach(area IN LISTS closure)
    target_link_libraries(${target} PRIVATE pt2_${area})
  endforeach()
endfunction()
