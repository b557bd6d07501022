/* The rooms of the layer extra, the files of src/extra/, in the order of
   tvmffi.h: a room uses only what an earlier room declares. */
#pragma once

#include "extra/number_text.h"
#include "extra/bigint_text.h"
#include "extra/recursive.h"
#include "extra/repr.h"
#include "extra/recursive_hash.h"
#include "extra/recursive_compare.h"
#include "extra/structural.h"
#include "extra/structural_equal.h"
#include "extra/structural_hash.h"
#include "extra/visit.h"
#include "extra/visit_callback.h"
#include "extra/visit_run.h"
#include "extra/json_read.h"
#include "extra/json_write.h"
#include "extra/base64.h"
#include "extra/graph_save.h"
#include "extra/graph_load.h"
