/* The rooms of the layer head, the files of src/head/, in the order of
   tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "head/config.h"
#include "head/compiler.h"
#include "head/atomic.h"
#include "head/dlpack.h"
#include "head/abi.h"
#include "head/share.h"
#include "head/late.h"
