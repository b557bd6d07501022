// The unit tests, and with them the implementation, compiled as C++.
#include "../../tvmffi_impl_test.c"
