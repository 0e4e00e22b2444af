/* The C ABI: every call returns a status. After a failure, cornerturn_last_error() returns a sentence. */
#include <cornerturn/cornerturn.h>
#include <stdio.h>
#include <string.h>

static int failed(cornerturn_status status) {
  if (status == CORNERTURN_OK) return 0;
  fprintf(stderr, "%s: %s\n", cornerturn_status_name(status), cornerturn_last_error());
  return 1;
}

int main(void) {
  double src[4][6];
  double dst[6][4];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 6; ++j) src[i][j] = 10 * i + j;
  }

  /* One call. */
  if (failed(cornerturn_transpose(src, dst, 4, 6, sizeof(double), 0, 0, NULL))) return 1;
  printf("src[2][5] = %g, dst[5][2] = %g\n", src[2][5], dst[5][2]);
  if (dst[5][2] != src[2][5]) return 1;

  /* With a plan, which any thread can execute any number of times. */
  cornerturn_problem problem = CORNERTURN_PROBLEM_INIT;
  cornerturn_plan* plan = NULL;
  if (failed(cornerturn_transpose_problem(4, 6, sizeof(double), 0, 0, &problem))) return 1;
  if (failed(cornerturn_plan_create(&problem, NULL, NULL, &plan))) return 1;
  printf("kernel: %s\n", cornerturn_plan_kernel(plan));
  const int bad = failed(cornerturn_plan_execute(plan, src, dst, NULL));
  cornerturn_plan_destroy(plan);
  if (bad) return 1;

  /* If dst is src, the call transposes the matrix in place. */
  if (failed(cornerturn_transpose(dst, dst, 6, 4, sizeof(double), 0, 0, NULL))) return 1;
  if (memcmp(dst, src, sizeof src) != 0) return 1;

  /* An error: a leading dimension smaller than a row. */
  const cornerturn_status status = cornerturn_transpose(src, dst, 4, 6, sizeof(double), 5, 0, NULL);
  printf("an error: %s: %s\n", cornerturn_status_name(status), cornerturn_last_error());
  return status == CORNERTURN_INVALID_ARGUMENT ? 0 : 1;
}
