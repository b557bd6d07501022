/* The rooms of the layer head, in the order of tvmffi.h. */
#pragma once

#include "head/config.h"
#include "head/compiler.h"
#include "head/atomic.h"
#include "head/dlpack.h"
#include "head/abi.h"
#include "head/late.h"
