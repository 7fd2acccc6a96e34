/* evenkeel/decls.h - macros around the declarations of every public header.
 *
 * They have C linkage, and their functions are the symbols that the shared library exports: it is built with hidden
 * visibility. */
#ifndef EVENKEEL_DECLS_H
#define EVENKEEL_DECLS_H

#ifdef __GNUC__
#define EK__EXPORTED     _Pragma("GCC visibility push(default)")
#define EK__EXPORTED_END _Pragma("GCC visibility pop")
#else
#define EK__EXPORTED
#define EK__EXPORTED_END
#endif

#ifdef __cplusplus
#define EK_BEGIN_DECLS                                                                                                 \
    extern "C" {                                                                                                       \
    EK__EXPORTED
#define EK_END_DECLS                                                                                                   \
    EK__EXPORTED_END                                                                                                   \
    }
#else
#define EK_BEGIN_DECLS EK__EXPORTED
#define EK_END_DECLS   EK__EXPORTED_END
#endif

#endif
