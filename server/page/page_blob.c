/* The page of a file of a git-like repository: GET [/{type}]/{namespace}/{name}/blob/{place}. */
#include "cas/losses.h"
#include "server/page/page_lost.h"
#include "server/page/page_map.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"
#include "server/page/page_rows.h"
#include "server/page/page_tensors.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	BLOB_TEXT_BYTES = 32 << 10,                      /* bytes of a text that are shown */
	BLOB_HTML_BYTES = 36000,                         /* limit of their HTML */
	BLOB_LINE_BYTES = 6,                             /* HTML for the number of a line */
	BLOB_TENSORS_BYTES = CAIRN_TENSORS_HEAD_MAX + 8, /* bytes that are read to list tensors */
};

struct blob_page {
	struct page_place place;
	struct cairn_index_entry entry;
	struct cairn_buf bytes; /* the first bytes of the file; owned */
	enum page_place_bytes found;
};

static void blob_free(void *state)
{
	struct blob_page *p = state;
	if (p)
		cairn_buf_fini(&p->bytes);
	page_free(state);
}

static bool blob_ends_with(const char *path, const char *ending)
{
	size_t len = strlen(path), n = strlen(ending);
	return len > n && strcasecmp(path + len - n, ending) == 0;
}

static bool blob_is_image(const char *path)
{
	static const char *const ENDINGS[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", NULL};
	for (const char *const *ending = ENDINGS; *ending; ending++)
		if (blob_ends_with(path, *ending))
			return true;
	return false;
}

/* Returns how much of the text fits on the page. */
static size_t blob_room(const struct blob_page *p)
{
	const char *text = (const char *)p->bytes.bytes;
	size_t len = 0, html_bytes = 0;
	for (; len < p->bytes.len && html_bytes < BLOB_HTML_BYTES; len++)
		html_bytes += strchr("&<>\"'", text[len]) ? sizeof("&quot;") - 1
			      : text[len] == '\n'         ? BLOB_LINE_BYTES
							  : 1;
	while (len < p->bytes.len && len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80) /* do not cut a character */
		len--;
	return len;
}

/* Appends lines with their numbers. Lines may have Windows line ends. */
static void blob_put_text(struct blob_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	const size_t len = blob_room(p);
	const char *text = (const char *)p->bytes.bytes, *end = text + len;
	unsigned n = 0;
	html(b, "<div class=\"source\"><pre class=\"numbers\" aria-hidden=\"true\">");
	for (const char *at = text; at < end; n++) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		html(b, "%u\n", n + 1);
		at = line ? line + 1 : end;
	}
	html(b, "</pre><pre tabindex=\"0\" role=\"group\" aria-label=\"Content\"><code>");
	for (const char *at = text; at < end;) {
		const char *line = memchr(at, '\n', (size_t)(end - at)), *stop = line ? line : end;
		html_bytes(b, at, (size_t)(stop - at) - (stop > at && stop[-1] == '\r'));
		html(b, "\n");
		at = stop + 1;
	}
	html(b, "</code></pre></div>\n");
	if (p->entry.size_bytes > len)
		html(b,
		     "<p class=\"dim\">These are the first %zu bytes; download the file for the "
		     "rest.</p>\n",
		     len);
}

/* Appends the text as a table. @return false: it is not one */
static bool blob_put_rows(struct blob_page *p)
{
	bool is_csv = blob_ends_with(p->place.path, ".csv"), is_tsv = blob_ends_with(p->place.path, ".tsv");
	return (is_csv || is_tsv) && page_put_rows(page_out(&p->place.page), (const char *)p->bytes.bytes, p->bytes.len,
						   is_tsv ? '\t' : '\0', p->bytes.len < p->entry.size_bytes);
}

static bool blob_has_tensors(const struct blob_page *p)
{
	return blob_ends_with(p->place.path, ".safetensors");
}

/* Is the file lost? Its first bytes may be sound while others are lost, and a loss may be newer than the lists. */
static bool blob_is_lost(const struct blob_page *p)
{
	return p->found == PAGE_PLACE_LOST ||
	       (p->entry.has_file && cairn_losses_has(page_cas(&p->place.page), &p->entry.file));
}

static void blob_put_content(struct blob_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	const char *slash = strrchr(p->place.path, '/');
	if (!p->place.may_read) {
		html(b, "<p class=\"empty\">Only members see its content: the files of this repository are "
			"gated.</p>\n");
	} else if (p->entry.size_bytes == 0) {
		html(b, "<p class=\"empty\">This file is empty.</p>\n");
	} else if (p->found != PAGE_PLACE_READ) {
		html(b, "<p class=\"empty\">%s</p>\n", page_place_say(p->found));
	} else if (blob_is_image(p->place.path)) {
		html(b, "<div class=\"picture\"><img src=\"");
		page_place_put_address(b, &p->place, "resolve", p->place.path);
		html(b, "\" alt=\"%s\"></div>\n", slash ? slash + 1 : p->place.path);
	} else if (blob_has_tensors(p)) {
		page_put_tensors(b, p->bytes.bytes, p->bytes.len, p->entry.size_bytes);
	} else if (p->bytes.len > 0 && show_is_text(p->bytes.bytes, p->bytes.len, p->bytes.len < p->entry.size_bytes)) {
		if (!blob_put_rows(p))
			blob_put_text(p);
	} else {
		html(b, "<p class=\"empty\">This file is not text that can be shown here.</p>\n");
	}
}

/* Writes the SHA-256 of the file. For a file kept in the index, computes it from the bytes. */
static bool blob_sha256(const struct blob_page *p, char out[static 65])
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	bool whole = p->place.may_read && p->bytes.len == p->entry.size_bytes;
	if (p->entry.kind == CAIRN_INDEX_XET)
		cairn_hex_text(out, p->entry.sha256, sizeof(p->entry.sha256));
	else if (whole && cairn_sha256_of(digest, p->bytes.bytes, p->bytes.len) == CAIRN_OK)
		cairn_hex_text(out, digest, sizeof(digest));
	else
		return false;
	return true;
}

static const char *blob_belief(const struct blob_page *p)
{
	static const char *const WORDS[] = {
		[CAIRN_INDEX_FALSE] = "false: the uploaded bytes have another",
		[CAIRN_INDEX_COPIED] = "not verified yet: another repository claims it",
		[CAIRN_INDEX_SAID] = "not verified yet: the uploader claims it",
		[CAIRN_INDEX_PROVED] = "proved",
	};
	if (blob_is_lost(p))
		return "of the bytes that are lost";
	return p->entry.kind == CAIRN_INDEX_XET ? WORDS[p->entry.belief] : "";
}

static void blob_put_facts(struct blob_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	char count[SHOW_BYTES], sha256[65], oid[CAIRN_GIT_OID_CHARS + 1], hash[CAIRN_HASH_TEXT_BYTES];
	html(b, "<dl class=\"facts\"><dt>Size</dt><dd>%s bytes</dd>", show_count(count, p->entry.size_bytes));
	if (blob_sha256(p, sha256))
		html(b, "<dt>SHA-256</dt><dd><code>%s</code> <span class=\"dim\">%s</span></dd>", sha256,
		     blob_belief(p));
	if (p->entry.kind == CAIRN_INDEX_XET && p->entry.has_file) {
		cairn_hash_text(hash, &p->entry.file);
		html(b, "<dt>Xet hash</dt><dd><code>%s</code></dd>", hash);
	}
	cairn_git_oid_text(oid, &p->entry.oid);
	html(b, "<dt>%s</dt><dd><code>%s</code></dd></dl>\n",
	     p->entry.kind == CAIRN_INDEX_XET ? "Git, as a pointer" : "Git", oid);
}

static void blob_put_use(struct blob_page *p)
{
	const struct hub_repo *hub = &p->place.page.hub;
	CLEANUP(cairn_buf_fini) struct cairn_buf lines = cairn_buf_init(8192);
	if (strchr(p->place.path, '\'') ||
	    strchr(p->place.revision, '\'')) /* a shell would read it as another argument */
		return;
	cairn_buf_printf(&lines, "hf download %s/%s '%s'", hub->repo.account_name, hub->repo.name, p->place.path);
	if (hub->kind != CAIRN_INDEX_MODEL)
		cairn_buf_printf(&lines, " --repo-type %s", hub_kind_name(hub->kind));
	if (strcmp(p->place.revision, CAIRN_HUB_MAIN) != 0)
		cairn_buf_printf(&lines, " --revision '%s'", p->place.revision);
	cairn_buf_add(&lines, "\n", 2);
	if (lines.status == CAIRN_OK)
		page_put_endpoint(&p->place.page, (const char *)lines.bytes);
}

static void blob_build_found(struct blob_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	struct cairn_index_commit last;
	char size[SHOW_BYTES];
	const char *slash = strrchr(p->place.path, '/');
	bool lost = blob_is_lost(p);
	if (!page_place_begin(&p->place, PAGE_REPO_FILES))
		return;
	html(b, "<div class=\"line at\">");
	page_place_put_menu(&p->place, "tree");
	if (cairn_hub_last_commit(page_hub(&p->place.page), &p->entry, &last) == CAIRN_OK)
		page_place_put_commit(&p->place, &last);
	html(b, "<a class=\"away-end\" href=\"");
	page_place_put_address(b, &p->place, "commits", p->place.path);
	html(b, "\">History of this file</a></div>\n<div class=\"title\"><h2 class=\"path\">");
	html_name(b, slash ? slash + 1 : p->place.path);
	html(b, "</h2>");
	if (p->place.may_read && !lost) {
		html(b, "<a class=\"button\" href=\"");
		page_place_put_address(b, &p->place, "resolve", p->place.path);
		html(b, "\" download>Download %s</a>", show_size(size, p->entry.size_bytes));
	}
	html(b, "</div>\n");
	if (lost)
		page_put_lost_notice(b);
	blob_put_facts(p);
	if (!lost)
		blob_put_content(p);
	if (p->place.may_read && !lost && p->entry.kind == CAIRN_INDEX_XET && p->entry.has_file)
		page_put_map(&p->place.page, &p->entry.file);
	if (!lost)
		blob_put_use(p);
	page_end(&p->place.page);
}

static void blob_build(struct page *page)
{
	struct blob_page *p = (struct blob_page *)page;
	struct hub_call *call = &page->hub.call;
	if (!page_place_find(&p->place))
		return;
	p->entry.kind = CAIRN_INDEX_FOLDER;
	if (p->place.path[0])
		call->status =
			cairn_hub_find_entry(page_hub(page), &page->hub.commit, p->place.path, &p->entry, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	if (p->entry.kind == CAIRN_INDEX_FOLDER) {
		page_place_go(&p->place, "tree");
		return;
	}
	p->bytes = cairn_buf_init(blob_has_tensors(p) ? BLOB_TENSORS_BYTES : BLOB_TEXT_BYTES);
	bool reads = p->place.may_read && !blob_is_image(p->place.path);
	if (!reads || page_place_read(&p->place, &p->entry, &p->bytes, &p->found))
		blob_build_found(p);
}

static void blob_get(struct http_request *req)
{
	if (page_place_new(req, sizeof(struct blob_page), blob_build, true))
		route_job_start(req);
}

const struct http_route ROUTES_PAGE_BLOB[] = {
	HUB_EACH_KIND(PAGE_GET, "/blob/{place*}", "page-blob", blob_get, blob_free),
	{0},
};
