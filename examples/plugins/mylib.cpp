// The operators of mylib.h for the command: pt2 run custom.pt2 --ops ./libmylib.so
#include "../mylib.h"

#include "pt2/ops/plugin.h"

PT2_PLUGIN(operators) { return mylib::add_operators(operators); }
