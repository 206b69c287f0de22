// Linked into the generator's library, with LLVM's archives and --wrap=__cxa_atexit: no destructor
// of a static object in it is registered. exit() would run them while another thread loads the
// library or compiles. There is nothing that they would have to do: LLVM's static objects are
// memory.

extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*);  // NOLINT: the linker's name

extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*) { return 0; }  // NOLINT
