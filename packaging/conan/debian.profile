# Debian 12's packages stand in for those of a server:
# conan create packaging/conan --profile=packaging/conan/debian.profile --no-remote
include(default)

[settings]
compiler.cppstd=20

[platform_requires]
fmt/9.1.0
simdjson/3.0.1
libdeflate/1.14
highway/1.0.3
eigen/3.4.0
cli11/2.1.2
