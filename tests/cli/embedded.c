/* Sets the locale that EK_TEST_LOCALE names, before main(). Messages of libc stay as they are: cases have them in
 * English. */
#include <locale.h>
#include <stdlib.h>

/* setlocale() leaks the parts of LOCPATH, which is libc's. */
const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}

const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:__argz_add_sep";
}

__attribute__((constructor)) static void set_locale(void)
{
    static const int category[] = {LC_NUMERIC, LC_CTYPE, LC_COLLATE, LC_MONETARY, LC_TIME};
    const char *name = getenv("EK_TEST_LOCALE");
    for (size_t i = 0; name && i < sizeof category / sizeof *category; i++)
        if (!setlocale(category[i], name))
            abort();
}
