// A library with something else in it.
extern "C" int not_a_plugin() { return 1; }
