"""The README's program, against the package."""

import os
import re

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout
from conan.tools.files import load, save


class Test(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        readme = load(self, os.path.join(self.recipe_folder, "..", "..", "..", "README.md"))
        for language, name in (("cpp", "main.cpp"), ("cmake", "CMakeLists.txt")):
            block = re.search(rf"^```{language}\n(.*?)^```", readme, re.S | re.M)[1]
            save(self, os.path.join(self.build_folder, "readme", name), block)
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join(self.build_folder, "readme"))
        cmake.build()

    def test(self):
        if can_run(self):
            examples = os.path.join(self.recipe_folder, "..", "..", "..", "examples")
            self.run(os.path.join(self.build_folder, "app"), cwd=examples, env="conanrun")
