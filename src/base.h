/* The rooms of the layer base, the files of src/base/, in the order of
   tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "base/reference.h"
#include "base/value.h"
#include "base/type_info.h"
#include "base/dltensor.h"
#include "base/scope_here.h"
#include "base/error.h"
#include "base/named_call.h"
#include "base/map_layout.h"
#include "base/word.h"
#include "base/mismatch.h"
#include "base/module_table.h"
