#include "server/page/page_tensors.h"

#include "server/ask/html.h"
#include "server/page/show.h"

#include <inttypes.h>
#include <stdio.h>

enum { TENSORS_ROWS = 200, TENSORS_ROWS_BYTES = 20000 };

/* Collects rows, because the sums of the table are known only after all tensors. */
struct tensors_rows {
	struct cairn_buf rows;
	unsigned n;
};

static void tensors_put(void *ctx, const struct cairn_tensor *tensor)
{
	struct tensors_rows *t = ctx;
	struct cairn_buf *b = &t->rows;
	char count[SHOW_BYTES];
	if (t->n == TENSORS_ROWS || b->len > TENSORS_ROWS_BYTES)
		return;
	t->n++;
	html(b, "<tr><th scope=\"row\">");
	html_name(b, tensor->name);
	html(b, "</th><td>%s</td><td class=\"num wide\">", tensor->type);
	for (unsigned i = 0; i < tensor->n_dims; i++)
		html(b, i > 0 ? " × %lu" : "%lu", (unsigned long)tensor->shape[i]);
	html(b, "</td><td class=\"num\">%s</td></tr>\n", show_count(count, tensor->n_values));
}

void page_put_tensor_sums(struct cairn_buf *b, const struct cairn_tensors *tensors)
{
	char values[SHOW_BYTES], count[SHOW_BYTES];
	html(b, "<dl class=\"facts\"><dt>Parameters</dt><dd>%s</dd><dt>Tensors</dt><dd>%s</dd>",
	     show_count(values, tensors->n_values), show_count(count, tensors->n_tensors));
	for (unsigned i = 0; i < tensors->n_types && tensors->n_types > 1; i++)
		html(b, "<dt>Of them %s</dt><dd>%s</dd>", tensors->types[i].name,
		     show_count(values, tensors->types[i].n_values));
	if (tensors->n_types == 1)
		html(b, "<dt>Type</dt><dd>%s</dd>", tensors->types[0].name);
	html(b, "</dl>\n");
}

static void tensors_put_all(struct cairn_buf *b, const struct cairn_tensors *tensors, const struct tensors_rows *t)
{
	char count[SHOW_BYTES];
	html(b, "<h2>Tensors</h2>\n");
	page_put_tensor_sums(b, tensors);
	if (t->n == 0)
		return;
	html(b, "<table class=\"rows\" id=\"tensors\"><thead><tr><th scope=\"col\">Name</th><th "
		"scope=\"col\">Type</th><th scope=\"col\" class=\"num wide\">Shape</th><th scope=\"col\" "
		"class=\"num\">Parameters</th></tr></thead><tbody>\n");
	cairn_buf_add(b, t->rows.bytes, t->rows.len);
	html(b, "</tbody></table>\n");
	if (tensors->n_tensors > t->n)
		html(b, "<p class=\"dim\">And %s more.</p>\n", show_count(count, tensors->n_tensors - t->n));
}

void page_put_tensors(struct cairn_buf *b, const uint8_t *bytes, size_t len, uint64_t file_bytes)
{
	struct tensors_rows t = {.rows = cairn_buf_init((size_t)2 * TENSORS_ROWS_BYTES)};
	struct cairn_tensors tensors;
	enum cairn_status status = cairn_tensors_read(&tensors, bytes, len, file_bytes, tensors_put, &t);
	char size[SHOW_BYTES];
	if (status == CAIRN_OK)
		tensors_put_all(b, &tensors, &t);
	else if (status == CAIRN_E_LIMIT)
		html(b, "<p class=\"empty\">Its head is longer than %s, and is not read here.</p>\n",
		     show_size(size, CAIRN_TENSORS_HEAD_MAX));
	else
		html(b,
		     "<p class=\"empty\">Its head is not one of safetensors: %s, behind byte %lu. No tool will load "
		     "it.</p>\n",
		     tensors.fault, (unsigned long)tensors.fault_at);
	cairn_buf_fini(&t.rows);
}
