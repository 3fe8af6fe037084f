/* Access to a request's headers and query arguments, which the library holds. */
#include "server/http/http.h"

#include "base/decimal.h"
#include "server/http/http_request.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

const char *http_header(const struct http_request *req, const char *name)
{
	return MHD_lookup_connection_value(req->conn, MHD_HEADER_KIND, name);
}

bool http_has_etag(const char *if_none_match, const char *etag)
{
	return if_none_match && (strcmp(if_none_match, "*") == 0 || strstr(if_none_match, etag));
}

bool http_wants_other_etag(const struct http_request *req, const char *etag)
{
	const char *list = req->if_match;
	if (!list || strcmp(list, "*") == 0)
		return false;
	for (const char *at = list; (at = strstr(at, etag)); at++)
		if (at - list < 2 || strncmp(at - 2, "W/", 2) != 0)
			return false;
	return true;
}

struct http_header_count {
	const char *name;
	unsigned n;
};

static enum MHD_Result http_on_counted(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct http_header_count *count = cls;
	(void)kind;
	(void)value;
	count->n += strcasecmp(name, count->name) == 0;
	return MHD_YES;
}

bool http_header_is_repeated(const struct http_request *req, const char *name)
{
	struct http_header_count count = {name, 0};
	MHD_get_connection_values(req->conn, MHD_HEADER_KIND, http_on_counted, &count);
	return count.n > 1;
}

struct http_query_visit {
	const char *name;
	bool (*visit)(void *ctx, const char *value);
	void *ctx;
};

static enum MHD_Result http_on_argument(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct http_query_visit *v = cls;
	(void)kind;
	if (strcmp(name, v->name) != 0)
		return MHD_YES;
	return v->visit(v->ctx, value ? value : "") ? MHD_YES : MHD_NO;
}

void http_query_each(const struct http_request *req, const char *name, bool (*visit)(void *ctx, const char *value),
		     void *ctx)
{
	struct http_query_visit v = {name, visit, ctx};
	MHD_get_connection_values(req->conn, MHD_GET_ARGUMENT_KIND, http_on_argument, &v);
}

struct http_pair_visit {
	void (*visit)(void *ctx, const char *name, const char *value);
	void *ctx;
};

static enum MHD_Result http_on_pair(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct http_pair_visit *v = cls;
	(void)kind;
	v->visit(v->ctx, name, value ? value : "");
	return MHD_YES;
}

void http_query_each_pair(const struct http_request *req, void (*visit)(void *ctx, const char *name, const char *value),
			  void *ctx)
{
	struct http_pair_visit v = {visit, ctx};
	MHD_get_connection_values(req->conn, MHD_GET_ARGUMENT_KIND, http_on_pair, &v);
}

static bool http_take_first(void *ctx, const char *value)
{
	const char **out = ctx;
	*out = value;
	return false;
}

const char *http_query_arg(const struct http_request *req, const char *name)
{
	const char *value = NULL;
	http_query_each(req, name, http_take_first, &value);
	return value;
}

bool http_query_number(const struct http_request *req, const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *text = http_query_arg(req, name);
	return !text || cairn_decimal_parse(text, min, max, out);
}

uint64_t http_query_number_or_0(const struct http_request *req, const char *name, uint64_t max)
{
	uint64_t n = 0;
	(void)http_query_number(req, name, 0, max, &n);
	return n;
}
