/* The rooms of the layer reflection, the files of src/reflection/, in the order
   of tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "reflection/field.h"
#include "reflection/builtin_struct.h"
#include "reflection/access.h"
#include "reflection/construct.h"
#include "reflection/access_path.h"
#include "reflection/field_convert.h"
#include "reflection/copy.h"
