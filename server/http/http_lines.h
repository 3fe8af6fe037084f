/* Checks that each line of a head ends with CR LF and contains no zero byte. libmicrohttpd 0.9.75 also ends lines at a
 * bare LF, and cuts texts at a zero byte. A proxy may therefore have read the same bytes as another request. The
 * library shows no bytes of the head, but it parses the head in place: it writes zeros over the ends of texts. So the
 * distance between one text and the next shows which bytes were between them. Pure. */
#ifndef CAIRN_SERVER_HTTP_LINES_H
#define CAIRN_SERVER_HTTP_LINES_H

#include <stdbool.h>
#include <stddef.h>

/** The check of a head. Zeroed at first: without http_lines_begin() nothing is checked. */
struct http_lines {
	const char *end; /* end (its zero) of the latest text; NULL: not checked */
	bool bad;        /* a line does not end with CR LF, or contains a zero byte */
};

/** Begins with the request line, whose texts are in one piece of memory. @param target_len  of the unsplit target */
void http_lines_begin(struct http_lines *lines, const char *method, const char *target, size_t target_len,
		      const char *version);

/** Adds the next header, in the order of the head. value ends with a zero at value[value_len]. */
void http_lines_header(struct http_lines *lines, const char *name, const char *value, size_t value_len);

/** Ends the check. @param head_bytes  from the first byte of the method to behind the empty line */
void http_lines_end(struct http_lines *lines, const char *method, size_t head_bytes);

#endif
