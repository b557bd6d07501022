#include <jni.h>

#include "callee.h"

JNIEXPORT jlong JNICALL Java_Call_add(JNIEnv *env, jclass self, jlong a,
                                      jlong b) {
  (void)env, (void)self;
  return callee_add(a, b);
}
