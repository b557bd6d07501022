/* The start of a test program. Visual Studio's own is in its libraries, which
   are not free to copy. */

int test_main(int argc, char **argv);
__declspec(noreturn) void exit(int status);

/* The compiler refers to this name in code with floats. */
int _fltused;

void mainCRTStartup(void) {
  char name[] = "unit";
  char *argv[2];
  argv[0] = name;
  argv[1] = 0;
  exit(test_main(1, argv));
}
