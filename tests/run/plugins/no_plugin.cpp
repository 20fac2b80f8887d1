// A shared library that is not a plug-in.
extern "C" int not_a_plugin() { return 1; }
