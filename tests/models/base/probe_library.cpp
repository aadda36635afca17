// Libraries that shared_library_test.cpp loads, all of this file: PROBE_NEEDS names a function that a
// library takes from another one.
#ifdef PROBE_NEEDS
extern "C" int PROBE_NEEDS();
extern "C" int foreshard_probe_module() {
  return PROBE_NEEDS() + 1;
}
#else
extern "C" int foreshard_probe() {
  return 1;
}
#endif
