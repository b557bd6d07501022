/* ======== Device search ============================== >>functions/find_device
   the first device that is not a CPU */

#pragma once

#include "../head.h"
#include "../graph.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
typedef struct {
  tvmffi_i_walk walk;
  tvmffi_i_ptr_table visited; /* tvmffi_i_memo of containers */
} tvmffi_i_device_search;

/* Returns 1 and sets *device if the value is a tensor that is not on a CPU.
   Returns 0 for another value, or an error code. Pushes a frame for a
   container at its first visit. */
static int tvmffi_i_look_for_device(tvmffi_i_device_search *s,
                                    const TVMFFIAny *value, DLDevice *device) {
  TVMFFIObject *o =
      value->type_index >= kTVMFFIStaticObjectBegin ? value->v_obj : NULL;
  if (!o) return 0;
  if (o->type_index == kTVMFFITensor) {
    const DLTensor *t = TVMFFITensorGetDLTensorPtr(o);
    if (t->device.device_type == kDLCPU) return 0;
    *device = t->device;
    return 1;
  }
  if (!tvmffi_i_is_container(o->type_index) ||
      tvmffi_i_find_memo(&s->visited, o))
    return 0;
  if (tvmffi_i_set_memo(&s->visited, o, 0) ||
      !tvmffi_i_push_frame(&s->walk, o, NULL, NULL, 0))
    return -1;
  return 0;
}

/* Searches depth first; skips keys of maps. Returns 0, or an error code. */
static int tvmffi_i_find_device(tvmffi_i_device_search *s,
                                const TVMFFIAny *value, DLDevice *device) {
  int found = tvmffi_i_look_for_device(s, value, device);
  while (!found && tvmffi_i_depth(s)) {
    tvmffi_i_children *c = &tvmffi_i_top(s)->c;
    value = tvmffi_i_next_in_container(c);
    if (!value)
      tvmffi_i_pop_frame(&s->walk);
    else if (!c->on_value)
      found = tvmffi_i_look_for_device(s, value, device);
  }
  return found < 0 ? found : 0;
}

/* Returns the device of the first tensor that is not on a CPU, or cpu:0 if all
   tensors are. Searches a value, the items of arrays and lists, and the values
   of maps and dicts, depth first. */
TVMFFI_I_BUILTIN_FUNC(ContainerFindFirstNonCPUDevice, device,
                      (i_view, container)) {
  tvmffi_i_walk_frame room[2];
  tvmffi_i_device_search s = TVMFFI_I_ZERO;
  DLDevice device = {kDLCPU, 0};
  int code;
  TVMFFI_I_WALK_OPEN(&s, NULL, tvmffi_i_pop_frame, room);
  code = tvmffi_i_find_device(&s, container, &device);
  tvmffi_i_walk_close(&s.walk);
  tvmffi_i_clear_memos(&s.visited);
  if (code) return code;
  TVMFFI_RETURN(device);
}
#endif
