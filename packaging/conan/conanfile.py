"""A Conan 2 recipe of the tree that it lies in: conan create packaging/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

REPOSITORY = ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "interop/CMakeLists.txt", "src/*", "tools/*")

# Of what is linked: the requirement, its component, and the library where the system has it ([platform_requires]).
LINKED = (
    ("fmt", "fmt::fmt", "fmt"),
    ("simdjson", "simdjson::simdjson", "simdjson"),
    ("libdeflate", "libdeflate::libdeflate", "deflate"),
)


class Libpt2(ConanFile):
    name = "libpt2"
    description = "Loads, checks, converts and runs the .pt2 files of PyTorch's torch.export.save without PyTorch"
    license = "BSD-3-Clause"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"tools": [True, False], "c": [True, False]}
    default_options = {"tools": False, "c": False}

    def set_version(self):
        lists = load(self, os.path.join(self.recipe_folder, "..", "..", "CMakeLists.txt"))
        self.version = re.search(r"project\(pt2 VERSION ([0-9.]+)", lists)[1]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in REPOSITORY:
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # The public headers include none of these; who links the static libraries needs all but Highway, Eigen and CLI11.
        self.requires("fmt/[>=9 <13]")
        self.requires("simdjson/[>=3 <5]")
        self.requires("libdeflate/[>=1.14 <2]")
        self.requires("highway/[>=1.0.3 <2]", libs=False, visible=False)
        self.requires("eigen/[>=3.4 <6]", libs=False, visible=False)
        if self.options.tools:
            self.requires("cli11/[>=2.1 <3]", libs=False, visible=False)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["PT2_TOOLS"] = bool(self.options.tools)
        toolchain.cache_variables["PT2_C"] = bool(self.options.c)
        toolchain.cache_variables["PT2_INSTALL"] = True
        toolchain.generate()
        dependencies = CMakeDeps(self)
        # As the build looks for them (CMakeLists.txt, cmake/FindDeflate.cmake).
        dependencies.set_property("libdeflate", "cmake_find_mode", "module")
        dependencies.set_property("libdeflate", "cmake_module_file_name", "Deflate")
        dependencies.set_property("libdeflate", "cmake_module_target_name", "Deflate::Deflate")
        dependencies.set_property("highway", "cmake_file_name", "hwy")
        dependencies.set_property("highway::hwy", "cmake_target_name", "hwy::hwy")
        dependencies.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes its own.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "pt2")
        # Nothing is known of what the platform has but that it is there.
        present = {each.ref.name for each in self.dependencies.values() if each.recipe != "Platform"}
        components = [component for name, component, _ in LINKED if name in present]
        libraries = [library for name, _, library in LINKED if name not in present]
        below = []
        for name in ("core", "ops", "run"):
            part = self.cpp_info.components[name]
            part.set_property("cmake_target_name", f"pt2::{name}")
            part.libs = [f"pt2_{name}"]
            part.requires = [*below, *components]
            part.system_libs = [*libraries, "pthread", "dl"]
            below = [name]
        if self.options.c:
            part = self.cpp_info.components["c"]
            part.set_property("cmake_target_name", "pt2::c")
            part.libs = ["pt2"]
            part.requires = components[:1]  # inside; named for Conan, which wants every requirement used
