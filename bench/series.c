/* series.c: finds the row that stands out of its series. What another program
 * did to the processor while a row was measured looks like a cost of that row;
 * the rows beside it, which do a little less and a little more, tell. */
#include <string.h>

#include "harness.h"

#define OUT 1.3 /* so far from both rows beside it */

/* Whether the rows differ in their numbers alone. */
static int of_one_series(const outcome *a, const outcome *b) {
  static const char number[] = "0123456789,";
  const char *x = a->row->name, *y = b->row->name;
  if (strcmp(a->group, b->group) != 0) return 0;
  for (;; ++x, ++y) {
    x += strspn(x, number);
    y += strspn(y, number);
    if (*x != *y || !*x) return *x == *y;
  }
}

int stands_out(const outcome *rows, int count, int i) {
  if (i < 1 || i + 1 >= count || !of_one_series(&rows[i - 1], &rows[i]) ||
      !of_one_series(&rows[i], &rows[i + 1])) {
    return 0;
  }
  for (int k = 0; k < SUBJECTS; ++k) {
    double before = rows[i - 1].figures[k].min;
    double here = rows[i].figures[k].min, behind = rows[i + 1].figures[k].min;
    double low = before < behind ? before : behind;
    double high = before < behind ? behind : before;
    if (low > 0 && (here > high * OUT || here * OUT < low)) return 1;
  }
  return 0;
}
