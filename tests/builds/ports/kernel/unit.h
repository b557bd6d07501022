/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * KUnit, or what ffi_unit.c uses of it, for a kernel without CONFIG_KUNIT: the
 * module's init runs the cases and prints lines as KUnit does.
 */
#ifndef UNIT_H_
#define UNIT_H_

#include <linux/kconfig.h>

#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/test.h>
#else
#include <linux/module.h>

struct kunit {
	int failed;
	const char *skipped;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function) { .run = function, .name = #function }

/* Returns whether the two are equal. */
static bool unit_check(struct kunit *test, int line, const char *text,
		       long long left, long long right)
{
	if (left == right)
		return true;
	pr_err("    # line %d: %s is %lld, not %lld\n", line, text, left, right);
	test->failed = 1;
	return false;
}

#define KUNIT_EXPECT_EQ(test, left, right)                                     \
	unit_check(test, __LINE__, #left, left, right)

#define KUNIT_ASSERT_EQ(test, left, right)                                     \
	do {                                                                   \
		if (!unit_check(test, __LINE__, #left, left, right))           \
			return;                                                \
	} while (0)

#define kunit_skip(test, text)                                                 \
	do {                                                                   \
		(test)->skipped = text;                                        \
		return;                                                        \
	} while (0)

static void unit_run(const struct kunit_suite *suite)
{
	const struct kunit_case *c;
	int n = 0;

	for (c = suite->test_cases; c->run; ++c) {
		struct kunit test = { 0, NULL };

		c->run(&test);
		pr_info("    %sok %d %s%s%s\n", test.failed ? "not " : "", ++n,
			c->name, test.skipped ? " # SKIP " : "",
			test.skipped ?: "");
	}
}

#define kunit_test_suite(suite)                                                \
	static int __init unit_init(void)                                      \
	{                                                                      \
		unit_run(&(suite));                                            \
		return 0;                                                      \
	}                                                                      \
	static void __exit unit_exit(void)                                     \
	{                                                                      \
	}                                                                      \
	module_init(unit_init);                                                \
	module_exit(unit_exit)
#endif

#endif
