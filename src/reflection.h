/* The rooms of the layer reflection, in the order of tvmffi.h. */
#pragma once

#include "reflection/field.h"
#include "reflection/builtin_struct.h"
#include "reflection/access.h"
#include "reflection/construct.h"
#include "reflection/access_path.h"
#include "reflection/field_convert.h"
#include "reflection/copy.h"
