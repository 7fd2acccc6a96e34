/* base/config_tree_python.h - reads settings written as a Python program, NAME = dict(key=value), as a document, so
 * that typed reading and messages are those of YAML and JSON. */
#ifndef EK_BASE_CONFIG_TREE_PYTHON_H
#define EK_BASE_CONFIG_TREE_PYTHON_H

#include "base/config_tree.h"

enum { EK__PYTHON_MAX_REFERENCES = 32 /* of names to names */ };

/** ek__config_parse_buffer() for the assignments of a program, which is read and never run: the last one of each name
 * is a value of the document's map. dict(...), {...} are maps, [...] and (...) lists; numbers with + - * / // % **,
 * int(), float() are evaluated; a name, and NAME["key"], have the value assigned above; True, False and None are true,
 * false and null. Everything else (calls, f-strings, names from imports or loops, assignments under a condition) is a
 * scalar of the program's text, not a number. Functions and classes are skipped.
 *
 *  @return EK_OK; EK_ERR_INPUT with line and column: invalid Python, text that is not UTF-8, a value that is changed
 *    after its assignment (NAME["key"] = ..., NAME.update(...)), a key twice; EK_ERR_MEMORY. O(size x names). */
ek_status ek__config_parse_python(const char *name, const char *text, size_t size, ek__config_tree **out,
                                  ek_error *err);

#endif
