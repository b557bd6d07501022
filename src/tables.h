/* The rooms of the layer tables, in the order of tvmffi.h. */
#pragma once

#include "tables/builtin_attribute.h"
#include "tables/type_field.h"
#include "tables/builtin_type.h"
#include "tables/builtin.h"
#include "tables/thread_state.h"
#include "tables/dynamic.h"
