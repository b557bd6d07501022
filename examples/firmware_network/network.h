/* A network as a list of layers, which compile.py writes to network.c. */

#ifndef NETWORK_H_
#define NETWORK_H_

#include "tvmffi.h"

typedef struct {
  const char *name;          /* of the function */
  const DLTensor *constants; /* the arguments between input and output */
  int constant_count;
  DLTensor output; /* dtype and shape, without data */
} network_layer;

extern const DLTensor network_input; /* dtype and shape, without data */
extern const network_layer network_layers[];
extern const int network_layer_count;

#endif
