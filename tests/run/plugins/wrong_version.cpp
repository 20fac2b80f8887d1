// A plug-in for an interface version that libpt2 does not have.
#include "pt2/ops/plugin.h"

extern "C" const pt2::Plugin pt2_plugin;
const pt2::Plugin pt2_plugin{.interface = {.version = 9999}, .add = nullptr};
