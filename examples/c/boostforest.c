/* The functions of boostforest.h as a library, for languages that call C. */
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"
