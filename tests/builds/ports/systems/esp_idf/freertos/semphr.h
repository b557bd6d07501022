#include <semphr.h>
