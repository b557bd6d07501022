/* The rooms of the layer containers, the files of src/containers/, in the order
   of tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "containers/shape.h"
#include "containers/equal.h"
#include "containers/sequence.h"
#include "containers/map_key.h"
#include "containers/map_lookup.h"
#include "containers/map_memory.h"
#include "containers/map_grow.h"
#include "containers/map.h"
#include "containers/map_fill.h"
