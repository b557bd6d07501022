// A call from Java by JNI. The first half of the calls warms the compiler up.
public class Call {
  static native long add(long a, long b);

  static double measure(long count) {
    long x = 0;
    long begin = System.nanoTime();
    for (long i = 0; i < count; ++i) x = add(x, 1);
    long end = System.nanoTime();
    if (x != count) throw new AssertionError(x);
    return (double) (end - begin) / count;
  }

  public static void main(String[] args) {
    System.load(args[1]);
    long count = Long.parseLong(args[0]);
    measure(count);
    System.out.printf("Java, JNI\t%.3f%n", measure(count));
  }
}
