// A shared library that is no plug-in.
extern "C" int not_a_plugin() { return 1; }
