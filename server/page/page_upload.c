/* Uploads small files with a form, as one commit: GET and POST [/{type}]/{namespace}/{name}/upload/{place} */
#include "hub/path.h"
#include "hub/put.h"
#include "server/app.h"
#include "server/page/form_files.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

enum { UPLOAD_BYTES_MAX = 8 << 20, UPLOAD_TITLE_BYTES = 200 };

struct upload_page {
	struct page_place place;
	const char *type; /* media type of the body; borrowed from the request */
	struct cairn_hash sender;
	struct form_files form;
	struct cairn_hub_put_file files[CAIRN_HUB_PUT_FILES_MAX];
	char paths[CAIRN_HUB_PUT_FILES_MAX][CAIRN_INDEX_PATH_MAX + 1];
	unsigned n;
	char folder[CAIRN_INDEX_PATH_MAX + 1], title[UPLOAD_TITLE_BYTES + 1];
};

static void upload_build_found(struct upload_page *p)
{
	static const struct page_crumb CRUMB = {"", "Upload"};
	struct page *page = &p->place.page;
	struct cairn_buf *b = page_out(page);
	char size[SHOW_BYTES];
	if (!page_repo_begin(page, PAGE_REPO_FILES, &CRUMB, 1))
		return;
	html(b, "<div class=\"narrow\"><h2>Upload files to ");
	html_name(b, p->place.revision);
	html(b, "</h2>\n");
	page_put_notice(page);
	html(b,
	     "<form method=\"post\" enctype=\"multipart/form-data\" class=\"stack\"><label for=\"files\">Files</label><input "
	     "type=\"file\" id=\"files\" name=\"files\" multiple required><p class=\"help\">At most %d, of %s together. "
	     "Larger ones go by <code>hf upload</code>, which sends only what is new.</p><label "
	     "for=\"folder\">Folder</label><input id=\"folder\" name=\"folder\" value=\"%s\" maxlength=\"900\" "
	     "autocomplete=\"off\" spellcheck=\"false\"><p class=\"help\">Empty for the top one. A file of the same name is "
	     "replaced; the old one stays in the commits before.</p><label for=\"title\">What changes</label><input "
	     "id=\"title\" name=\"title\" value=\"%s\" placeholder=\"Upload files\" maxlength=\"%d\" "
	     "autocomplete=\"off\"><button class=\"main\">Upload</button></form></div>\n",
	     CAIRN_HUB_PUT_FILES_MAX, show_size(size, UPLOAD_BYTES_MAX), p->folder, p->title, UPLOAD_TITLE_BYTES);
	page_end(page);
}

/* Finds the place. Its revision must be a branch, and the reader must be allowed to write. */
static bool upload_find(struct upload_page *p)
{
	struct page *page = &p->place.page;
	struct cairn_hub_ref_name ref;
	if (!hub_repo_find(&page->hub, CAIRN_HUB_WRITE) || !page_place_find(&p->place))
		return false;
	cairn_hub_ref_name(p->place.revision, &ref);
	if (ref.kind != CAIRN_INDEX_BRANCH || strcmp(p->place.revision, page->hub.call.commit) == 0)
		page->hub.call.status = CAIRN_E_NOT_FOUND;
	return page->hub.call.status == CAIRN_OK;
}

static void upload_build(struct page *page)
{
	struct upload_page *p = (struct upload_page *)page;
	if (!upload_find(p))
		return;
	(void)snprintf(p->folder, sizeof(p->folder), "%s", p->place.path);
	upload_build_found(p);
}

static void upload_get(struct http_request *req)
{
	if (page_place_new(req, sizeof(struct upload_page), upload_build, true))
		route_job_start(req);
}

static enum cairn_status upload_refuse(struct upload_page *p, const char *text)
{
	return cairn_fail(&p->place.page.hub.call.diag, CAIRN_E_USAGE, "form.files", CAIRN_NO_OFFSET, "%s", text);
}

/* Returns the file's name without the local folder that some browsers send. */
static const char *upload_base(const char *file)
{
	const char *base = file;
	for (const char *at = file; *at; at++)
		base = *at == '/' || *at == '\\' ? at + 1 : base;
	return base;
}

static enum cairn_status upload_take_file(struct upload_page *p, const struct form_part *part)
{
	if (!part->is_file || !part->file[0])
		return CAIRN_OK;
	if (p->n == CAIRN_HUB_PUT_FILES_MAX)
		return upload_refuse(p, "nothing was uploaded: those are too many files");
	char *path = p->paths[p->n];
	int len = snprintf(path, sizeof(p->paths[0]), "%s%s%s", p->folder, p->folder[0] ? "/" : "",
			   upload_base(part->file));
	const char *fault = len >= (int)sizeof(p->paths[0]) ? "a path is too long" : cairn_hub_file_fault(path);
	if (fault)
		return upload_refuse(p, fault);
	p->files[p->n++] = (struct cairn_hub_put_file){.path = path, .bytes = part->bytes, .len = part->len};
	return CAIRN_OK;
}

static enum cairn_status upload_take_form(struct upload_page *p)
{
	const struct cairn_body *body = &p->place.page.hub.body.in;
	enum cairn_status status = CAIRN_OK;
	if (!form_files_read(&p->form, p->type, body->bytes, body->len))
		return upload_refuse(p, "nothing was uploaded: send the form as a browser does, with shorter names");
	if (!form_files_value(&p->form, "folder", p->folder, sizeof(p->folder)) ||
	    !form_files_value(&p->form, "title", p->title, sizeof(p->title)))
		return upload_refuse(p, "nothing was uploaded: the folder or what changes is too long");
	for (unsigned i = 0; i < p->form.n && status == CAIRN_OK; i++)
		status = upload_take_file(p, &p->form.parts[i]);
	if (status == CAIRN_OK && p->n == 0)
		return upload_refuse(p, "nothing was uploaded: no file was chosen");
	return status;
}

static enum cairn_status upload_commit(struct upload_page *p, struct cairn_git_oid *oid)
{
	struct page *page = &p->place.page;
	const struct app *app = page->hub.call.job.app;
	const struct cairn_hub_put put = {
		.repo = &page->hub.repo,
		.head = &page->hub.commit,
		.branch = p->place.revision,
		.title = p->title[0] ? p->title : "Upload files",
		.sender = &p->sender,
		.alone = page->hub.repo.is_private || app->auth.dedupe != CAIRN_DEDUPE_GLOBAL,
		.files = p->files,
		.n = p->n,
	};
	return cairn_hub_put(page_hub(page), page_asker(page), &put, oid, &page->hub.call.diag);
}

static void upload_run(struct page *page)
{
	struct upload_page *p = (struct upload_page *)page;
	struct cairn_git_oid oid;
	if (!upload_find(p))
		return;
	enum cairn_status status = upload_take_form(p);
	if (status == CAIRN_OK)
		status = upload_commit(p, &oid);
	page->hub.call.status = status == CAIRN_E_LIMIT ? CAIRN_E_USAGE : status; /* LIMIT: too many names or folders */
	if (page_take_failure(page))
		upload_build_found(p);
	else if (status == CAIRN_OK)
		page_place_go(&p->place, "tree");
}

static void upload_head(struct http_request *req)
{
	struct upload_page *p = page_post_new(req, sizeof(*p), upload_run);
	if (!p || !page_repo_take(req, &p->place.page) || !page_post_may(req, &p->place.page, CAIRN_HUB_WRITE))
		return;
	p->place.raw = http_path_arg(req, "place");
	p->type = http_header(req, "Content-Type");
	p->place.page.hub.call.job.work.lane = CAIRN_LANE_HEAVY;
	http_sender(req, &p->sender);
}

#define UPLOAD_FORM(path, label)                                                                                       \
	{                                                                                                              \
		.method = "POST", .pattern = (path), .name = (label), .errors = HTTP_ERRORS_PAGE,                      \
		.body_max = UPLOAD_BYTES_MAX, .head = upload_head, .body = page_body, .done = page_done_files,         \
		.free = page_free                                                                                      \
	}

const struct http_route ROUTES_PAGE_UPLOAD[] = {
	HUB_EACH_KIND(PAGE_GET, "/upload/{place*}", "page-upload", upload_get, page_free),
	HUB_EACH_KIND(UPLOAD_FORM, "/upload/{place*}", "page-upload"),
	{0},
};
