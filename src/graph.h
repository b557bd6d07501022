/* The rooms of the layer graph, the files of src/graph/, in the order of
   tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "graph/table.h"
#include "graph/cursor.h"
#include "graph/walk.h"
#include "graph/callback.h"
