/* Parses XML answers of S3 services: lists of objects, and reasons for a refusal. */
#ifndef CAIRN_STORE_S3_XML_H
#define CAIRN_STORE_S3_XML_H

#include "base/status.h"

#include <stddef.h>

enum {
	S3_XML_BYTES_MAX = 1024 * 1024, /* of an answer; a list of 1,000 names takes 0.4 MB */
	S3_XML_TEXT_BYTES = 1024 + 1,   /* the longest name that a service takes */
};

/** A page of a list. */
struct s3_xml_list {
	void (*visit)(void *ctx, const char *key, uint64_t bytes); /* each object, in the order of the page */
	void *ctx;
	bool truncated; /* out: there is more */
};

/** Reads a page. @return CAIRN_OK; CAIRN_E_FORMAT it is no list: some objects may have been visited; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status s3_xml_read_list(struct s3_xml_list *list, const void *bytes, size_t len);

/** Reads the code of an error ("NoSuchKey"). @param[out] code  empty if there is none: not all answers have a body */
void s3_xml_read_error(char code[static S3_XML_TEXT_BYTES], const void *bytes, size_t len);

#endif
