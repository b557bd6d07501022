/* The port of tvmffi.h to a project of CMSIS packs: all tasks of FreeRTOS, or
   one thread, as the component's variant says. */

#include "RTE_Components.h"

#if defined(RTE_TVMFFI_FREERTOS)
#include "tvmffi_freertos.h"
#else
#include "tvmffi_one_thread.h"
#endif
