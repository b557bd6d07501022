/* The rooms of the layer graph, in the order of tvmffi.h. */
#pragma once

#include "graph/table.h"
#include "graph/cursor.h"
#include "graph/walk.h"
#include "graph/callback.h"
