/* The rooms of the layer tables, the files of src/tables/, in the order of
   tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "tables/builtin_function.h"
#include "tables/builtin_attribute.h"
#include "tables/type_field.h"
#include "tables/builtin_type.h"
#include "tables/builtin.h"
#include "tables/thread_state.h"
#include "tables/dynamic.h"
