// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define MAX_DEPTH 32

static const char *blank(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* These return what follows, NULL for what is no JSON. */
static const char *value(const char *p, int depth);

static const char *string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < 0x20)
			return NULL;
		if (*p != '\\')
			continue;
		p++;
		if (*p == 'u') {
			if (strspn(p + 1, "0123456789abcdefABCDEF") < 4)
				return NULL;
			p += 4;
		} else if (!*p || !strchr("\"\\/bfnrt", *p)) {
			return NULL;
		}
	}
	return p + 1;
}

static const char *digits(const char *p)
{
	return isdigit((unsigned char)*p) ? p + strspn(p, "0123456789") : NULL;
}

/* Not what strtod() takes: no inf, nan, hex or leading zeros. */
static const char *number(const char *p)
{
	p += *p == '-';
	p = *p == '0' ? p + 1 : digits(p);
	if (p && *p == '.')
		p = digits(p + 1);
	if (p && (*p == 'e' || *p == 'E')) {
		p++;
		p += *p == '+' || *p == '-';
		p = digits(p);
	}
	return p;
}

static const char *member(const char *p, int depth)
{
	p = string(p);
	if (!p)
		return NULL;
	p = blank(p);
	return *p == ':' ? value(blank(p + 1), depth) : NULL;
}

/* Object or array. */
static const char *list(const char *p, int depth)
{
	char close = *p == '{' ? '}' : ']';

	if (depth > MAX_DEPTH)
		return NULL;
	p = blank(p + 1);
	if (*p == close)
		return p + 1;
	for (;;) {
		p = close == '}' ? member(p, depth) : value(p, depth);
		if (!p)
			return NULL;
		p = blank(p);
		if (*p == close)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = blank(p + 1);
	}
}

static const char *value(const char *p, int depth)
{
	static const char *const word[] = { "true", "false", "null" };
	unsigned int i;

	if (*p == '{' || *p == '[')
		return list(p, depth + 1);
	if (*p == '"')
		return string(p);
	for (i = 0; i < 3; i++)
		if (!strncmp(p, word[i], strlen(word[i])))
			return p + strlen(word[i]);
	return number(p);
}

bool json_valid(const char *text)
{
	const char *end = value(blank(text), 0);

	return end && !*blank(end);
}

/* From element or member to the next one; NULL at the end. */
static const char *next(const char *p)
{
	p = blank(p);
	return *p == ',' ? blank(p + 1) : NULL;
}

const char *json_member(const char *v, const char *key)
{
	const char *p, *to;

	if (!v || *v != '{')
		return NULL;
	for (p = blank(v + 1); p && *p == '"'; p = next(value(to, 0))) {
		to = blank(blank(string(p)) + 1);
		if (json_is(p, key))
			return to;
	}
	return NULL;
}

const char *json_element(const char *v, unsigned int i)
{
	const char *p;

	if (!v || *v != '[')
		return NULL;
	p = blank(v + 1);
	if (*p == ']')
		return NULL;
	while (p && i--)
		p = next(value(p, 0));
	return p;
}

bool json_is(const char *v, const char *s)
{
	return v && *v == '"' && !strncmp(v + 1, s, strlen(s)) && v[1 + strlen(s)] == '"';
}

bool json_number(const char *v, double *n)
{
	if (!v || (*v != '-' && !isdigit((unsigned char)*v)))
		return false;
	*n = strtod(v, NULL);
	return true;
}
