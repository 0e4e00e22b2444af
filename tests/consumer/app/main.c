#include <cornerturn/cornerturn.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const unsigned char src[6] = {0, 1, 2, 10, 11, 12};
  const unsigned char want[6] = {0, 10, 1, 11, 2, 12};
  unsigned char dst[6] = {0};
  printf("cornerturn %s from C\n", cornerturn_version());
  if (cornerturn_transpose(src, dst, 2, 3, 1, 0, 0, NULL) != CORNERTURN_OK) return 1;
  if (cornerturn_transpose(src, dst, -1, 3, 1, 0, 0, NULL) != CORNERTURN_INVALID_ARGUMENT) return 1;
  return memcmp(dst, want, sizeof want) == 0 ? 0 : 1;
}
