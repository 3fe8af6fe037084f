/* The only includer of expat. */
#include "store/s3/xml.h"

#include "base/decimal.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

/* Identifies elements by name, not by position: no name has two meanings. */
struct s3_xml {
	XML_Parser parser;
	struct s3_xml_list *list; /* NULL: reading an error */
	char *code;
	char text[S3_XML_TEXT_BYTES]; /* of the current element */
	size_t len;
	char key[S3_XML_TEXT_BYTES];
	uint64_t bytes;
	bool has_bytes, is_list, has_end, wrong;
};

static void s3_xml_begin(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
	struct s3_xml *x = ctx;
	(void)attributes;
	x->len = 0;
	if (strcmp(name, "ListBucketResult") == 0)
		x->is_list = true;
	if (strcmp(name, "Contents") == 0) {
		x->key[0] = '\0';
		x->has_bytes = false;
	}
}

static void s3_xml_text(void *ctx, const XML_Char *text, int len)
{
	struct s3_xml *x = ctx;
	size_t n = (size_t)len;
	if (n >= sizeof(x->text) - x->len) {
		x->wrong = x->list != NULL; /* an error's other elements may be long; only its code is read */
		return;
	}
	memcpy(x->text + x->len, text, n);
	x->len += n;
}

static void s3_xml_end_of_list(struct s3_xml *x, const char *name)
{
	if (strcmp(name, "Key") == 0) {
		memcpy(x->key, x->text, x->len + 1);
	} else if (strcmp(name, "Size") == 0) {
		x->has_bytes = cairn_decimal_parse(x->text, 0, UINT64_MAX, &x->bytes);
	} else if (strcmp(name, "IsTruncated") == 0) {
		x->has_end = true;
		x->list->truncated = strcmp(x->text, "true") == 0;
	} else if (strcmp(name, "Contents") == 0) {
		x->wrong = x->wrong || !x->key[0] || !x->has_bytes;
		if (!x->wrong)
			x->list->visit(x->list->ctx, x->key, x->bytes);
	}
}

static void s3_xml_end(void *ctx, const XML_Char *name)
{
	struct s3_xml *x = ctx;
	x->text[x->len] = '\0';
	if (x->list)
		s3_xml_end_of_list(x, name);
	else if (strcmp(name, "Code") == 0 && !x->code[0])
		memcpy(x->code, x->text, x->len + 1);
	x->len = 0;
}

/* Refuses declarations: no answer has them, and they bring entities. */
static void s3_xml_refuse(void *ctx, const XML_Char *name, const XML_Char *system, const XML_Char *public, int has)
{
	struct s3_xml *x = ctx;
	(void)name, (void)system, (void)public, (void)has;
	x->wrong = true;
	(void)XML_StopParser(x->parser, XML_FALSE);
}

static enum cairn_status s3_xml_run(struct s3_xml *x, const void *bytes, size_t len)
{
	if (len > S3_XML_BYTES_MAX)
		return CAIRN_E_FORMAT;
	x->parser = XML_ParserCreate("UTF-8");
	if (!x->parser)
		return CAIRN_E_NOMEM;
	XML_SetUserData(x->parser, x);
	XML_SetElementHandler(x->parser, s3_xml_begin, s3_xml_end);
	XML_SetCharacterDataHandler(x->parser, s3_xml_text);
	XML_SetStartDoctypeDeclHandler(x->parser, s3_xml_refuse);
	bool whole = XML_Parse(x->parser, bytes, (int)len, XML_TRUE) == XML_STATUS_OK;
	bool no_memory = XML_GetErrorCode(x->parser) == XML_ERROR_NO_MEMORY;
	XML_ParserFree(x->parser);
	return whole && !x->wrong ? CAIRN_OK : no_memory ? CAIRN_E_NOMEM : CAIRN_E_FORMAT;
}

enum cairn_status s3_xml_read_list(struct s3_xml_list *list, const void *bytes, size_t len)
{
	struct s3_xml x = {.list = list};
	list->truncated = false;
	enum cairn_status status = s3_xml_run(&x, bytes, len);
	return status == CAIRN_OK && !(x.is_list && x.has_end) ? CAIRN_E_FORMAT : status;
}

void s3_xml_read_error(char code[static S3_XML_TEXT_BYTES], const void *bytes, size_t len)
{
	struct s3_xml x = {.code = code};
	code[0] = '\0';
	(void)!s3_xml_run(&x, bytes, len);
}
