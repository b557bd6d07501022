/* ======== Device search ============================== >>functions/find_device
   the first device that is not a CPU */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "../graph.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
typedef struct {
  TVMFFIObject *object;
} tvmffi_i_visited;

typedef struct {
  tvmffi_i_stack frames;      /* a stack of tvmffi_i_children */
  tvmffi_i_ptr_table visited; /* records are tvmffi_i_visited */
} tvmffi_i_device_search;

/* Returns 1 and sets *device if the value is a tensor that is not on a CPU.
   Returns 0 for another value, or an error code. Pushes a container onto
   s->frames at its first visit. */
static int tvmffi_i_look_for_device(tvmffi_i_device_search *s,
                                    const TVMFFIAny *value, DLDevice *device) {
  TVMFFIObject *o =
      value->type_index >= kTVMFFIStaticObjectBegin ? value->v_obj : NULL;
  tvmffi_i_children *c;
  if (!o) return 0;
  if (o->type_index == kTVMFFITensor) {
    const DLTensor *t = TVMFFITensorGetDLTensorPtr(o);
    if (t->device.device_type == kDLCPU) return 0;
    *device = t->device;
    return 1;
  }
  if (!tvmffi_i_is_container(o->type_index) ||
      TVMFFI_I_FIND(tvmffi_i_visited, &s->visited, o))
    return 0;
  if (!TVMFFI_I_ADD(tvmffi_i_visited, &s->visited, o)) return -1;
  c = TVMFFI_I_PUSH(tvmffi_i_children, &s->frames, NULL);
  if (!c) return -1;
  tvmffi_i_children_open(c, o, NULL);
  return 0;
}

/* Searches depth first; skips keys of maps. Returns 0, or an error code. */
static int tvmffi_i_find_device(tvmffi_i_device_search *s,
                                const TVMFFIAny *value, DLDevice *device) {
  int found = tvmffi_i_look_for_device(s, value, device);
  while (!found && s->frames.depth) {
    tvmffi_i_children *c = TVMFFI_I_TOP(tvmffi_i_children, &s->frames);
    value = tvmffi_i_next_in_container(c);
    if (!value)
      TVMFFI_I_POP(tvmffi_i_children, &s->frames);
    else if (!c->on_value)
      found = tvmffi_i_look_for_device(s, value, device);
  }
  return found < 0 ? found : 0;
}

/* Returns the device of the first tensor that is not on a CPU, or cpu:0 if all
   tensors are. Searches a value, the items of arrays and lists, and the values
   of maps and dicts, depth first. */
TVMFFI_I_BUILTIN_FUNC(i_first_device, device, (any, container)) {
  tvmffi_i_device_search s = TVMFFI_I_ZERO;
  DLDevice device = {kDLCPU, 0};
  int code;
  tvmffi_i_stack_open(&s.frames, NULL, 0);
  code = tvmffi_i_find_device(&s, &container, &device);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_ptr_clear(&s.visited, sizeof(tvmffi_i_visited), 1);
  if (code) return code;
  TVMFFI_RETURN(device);
}
#endif
