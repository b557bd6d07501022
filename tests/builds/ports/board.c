/* The program of a bare board: all unit tests, since nobody can ask for less
   there (what picolibc passes as arguments is qemu's own). */

int test_main(int argc, char **argv);

int main(void) {
  char name[] = "unit";
  char *argv[2];
  argv[0] = name;
  argv[1] = 0;
  return test_main(1, argv);
}
