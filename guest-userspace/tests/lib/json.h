/* SPDX-License-Identifier: MIT */
/*
 * Reading JSON that a program under test wrote: strict about its form, no tree. A value
 * is a pointer to its first character in the text.
 */
#ifndef VKFD_TEST_JSON_H
#define VKFD_TEST_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* The text is one value and nothing behind it; at most 32 levels deep. */
bool json_valid(const char *text);

/*
 * For text that json_valid() accepted. Value of member @key of object @v, or element @i
 * of array @v; NULL when there is none, or @v is NULL or something else. Keys are
 * compared as they are written, escapes and all.
 */
const char *json_member(const char *v, const char *key);
const char *json_element(const char *v, unsigned int i);

/* @v is the string @s, written without escapes. */
bool json_is(const char *v, const char *s);

/* @v is a number, which goes to *@n. */
bool json_number(const char *v, double *n);

#endif /* VKFD_TEST_JSON_H */
