/* The rooms of the layer modules, the files of src/modules/, in the order of
   tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "modules/stream.h"
#include "modules/environment.h"
#include "modules/once.h"
#include "modules/named_symbol.h"
#include "modules/library.h"
#include "modules/import.h"
#include "modules/module_object.h"
#include "modules/load.h"
#include "modules/resident.h"
#include "modules/system_library.h"
#include "modules/lookup.h"
