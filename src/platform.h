/* The rooms of the layer platform, the files of src/platform/, in the order of
   tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "platform/own.h"
#include "platform/layout.h"
#include "platform/libc.h"
#include "platform/arena.h"
#include "platform/platform_knot.h"
#include "platform/thread.h"
#include "platform/thread_stack.h"
#include "platform/memory.h"
#include "platform/unwound.h"
#include "platform/hash.h"
#include "platform/hash_table.h"
#include "platform/stack.h"
#include "platform/vector.h"
#include "platform/sort.h"
#include "platform/decimal.h"
#include "platform/text.h"
