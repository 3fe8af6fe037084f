/* A person approves a program that asked for a key of theirs (RFC 8628): GET and POST /login/device. */
#include "base/clock.h"
#include "hub/device.h"
#include "server/http/rate.h"
#include "server/page/page.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

/* An account may look up 30 codes at once, then one in 20 s. A valid code takes two lookups. At that rate, guessing one
 * of 25,600,000,000 codes takes longer than any of them is valid. */
enum { DEVICE_LOOK_EVERY_S = 20 };

static const char DEVICE_PATH[] = "/login/device";

struct device_page {
	struct page page;
	const char *typed; /* the code that the person typed, or that the link has; NULL: none */
};

/* Has the account lookups left? Budgets are refilled once a second, so the clock that they see runs slower. */
static bool device_is_within_budget(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	int64_t account = call->asker.account.id, now_us = cairn_clock_mono_ms() * 1000 / DEVICE_LOOK_EVERY_S;
	if (rate_take(call->job.app->device_lookups, &account, sizeof(account), now_us) == 0)
		return true;
	call->status = cairn_fail(&call->diag, CAIRN_E_DENIED, "device.tries", CAIRN_NO_OFFSET,
				  "this account has tried many codes; wait some minutes, then begin again in the "
				  "program");
	return false;
}

static void device_put_form(struct page *page)
{
	page_begin(page, "Let a program in", NULL, 0);
	html(page_out(page), "<div class=\"narrow\"><h1>Let a program in</h1>\n");
	page_put_notice(page);
	html(page_out(page),
	     "<form method=\"get\" action=\"/login/device\" class=\"stack\"><label for=\"code\">Code</label><input "
	     "id=\"code\" name=\"user_code\" required autofocus autocomplete=\"off\" spellcheck=\"false\" "
	     "maxlength=\"20\" placeholder=\"BCDF-GHJK\" aria-describedby=\"code-help\"><p class=\"help\" "
	     "id=\"code-help\">The program that you started shows it: <code>hf auth login</code>, for "
	     "instance.</p><button class=\"main\">Go on</button></form></div>\n");
	page_end(page);
}

static void device_put_days(struct cairn_buf *b)
{
	static const struct {
		const char *days, *text;
	} CHOICES[] = {
		{"7", "7 days"}, {"30", "30 days"}, {"90", "90 days"}, {"365", "a year"}, {"0", "until I revoke it"}};
	html(b, "<label for=\"days\">For how long</label><select id=\"days\" name=\"days\">");
	for (size_t i = 0; i < sizeof(CHOICES) / sizeof(CHOICES[0]); i++)
		html(b, i == 1 ? "<option value=\"%s\" selected>%s</option>" : "<option value=\"%s\">%s</option>",
		     CHOICES[i].days, CHOICES[i].text);
	html(b, "</select>");
}

static void device_put_question(struct page *page, const struct cairn_index_device *device, const char *user_code)
{
	struct cairn_buf *b = page_out(page);
	char today[SHOW_BYTES];
	int64_t now_unix_s = cairn_clock_unix_s();
	show_time(today, now_unix_s);
	today[strcspn(today, " ")] = '\0'; /* cuts the text after the date */
	page_begin(page, "Let a program in", NULL, 0);
	html(b, "<div class=\"narrow\"><h1>Let this program in?</h1>\n");
	page_put_notice(page);
	html(b, "<p>A program at the address <code>%s</code> asked ", device->address);
	show_age(b, device->made_unix_s, now_unix_s);
	html(b,
	     " for a key of the account <strong>%s</strong>. It shows this code:</p><p class=\"big\">%s</p>\n"
	     "<p>Let it in only if you started it yourself just now. If somebody sent you this link or the code, deny "
	     "it: they would get the key.</p>\n",
	     page_asker(page)->account.name, user_code);
	html(b,
	     "<form method=\"post\" action=\"/login/device\" class=\"stack\"><input type=\"hidden\" name=\"user_code\" "
	     "value=\"%s\"><label for=\"name\">Name of the key</label><input id=\"name\" name=\"name\" required "
	     "maxlength=\"80\" autocomplete=\"off\" value=\"hf auth login, %s\"><fieldset><legend>It may</legend>"
	     "<label class=\"choice\"><input type=\"radio\" name=\"may\" value=\"read\" checked> read</label><label "
	     "class=\"choice\"><input type=\"radio\" name=\"may\" value=\"write\"> read and write</label></fieldset>",
	     user_code, today);
	device_put_days(b);
	html(b, "<p class=\"help\">It is listed among your <a href=\"/settings/keys\">keys</a>, "
		"where you can revoke it. It ends at the latest with the key that you are signed in "
		"with.</p><button class=\"main\" name=\"action\" value=\"allow\">Let it "
		"in</button><button class=\"danger\" name=\"action\" value=\"deny\" "
		"formnovalidate>Deny</button></form></div>\n");
	page_end(page);
}

/* Asks whether to confirm a code. If no program waits with this code, shows the form for a code. */
static void device_ask(struct page *page, const char *typed)
{
	struct hub_call *call = &page->hub.call;
	struct cairn_index_device device;
	char user_code[CAIRN_HUB_USER_CODE_CHARS + 1];
	call->status = cairn_hub_check_own_keys(page_asker(page), &call->diag);
	if (call->status != CAIRN_OK || !device_is_within_budget(page))
		return;
	if (cairn_hub_user_code(typed, user_code))
		call->status = cairn_hub_find_device(page_hub(page), page_asker(page), user_code, &device, &call->diag);
	else
		call->status = cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "device.unknown", CAIRN_NO_OFFSET,
					  "a code has eight letters, as in BCDF-GHJK");
	if (call->status == CAIRN_OK)
		device_put_question(page, &device, user_code);
	else if (page_take_failure(page))
		device_put_form(page);
}

static void device_build(struct page *page)
{
	const char *typed = ((struct device_page *)page)->typed;
	char user_code[CAIRN_HUB_USER_CODE_CHARS + 1], back[sizeof(DEVICE_PATH) + 32];
	bool is_code = typed && cairn_hub_user_code(typed, user_code);
	/* the address behind the sign-in takes nothing but a code from the link */
	(void)snprintf(back, sizeof(back), "%s%s%s", DEVICE_PATH, is_code ? "?user_code=" : "",
		       is_code ? user_code : "");
	if (!page_is_signed_in(page, back))
		return;
	if (typed)
		device_ask(page, typed);
	else
		device_put_form(page);
}

static void device_get(struct http_request *req)
{
	struct device_page *device = page_get_new(req, sizeof(*device), device_build);
	if (!device)
		return;
	device->typed = http_query_arg(req, "user_code");
	route_job_start(req);
}

static void device_put_done(struct page *page, bool allowed)
{
	const char *title = allowed ? "The program is let in" : "The program was denied";
	page_begin(page, title, NULL, 0);
	html(page_out(page),
	     "<div class=\"narrow\"><h1>%s</h1><p role=\"status\">%s</p><p><a href=\"/settings/keys\">Your "
	     "keys</a></p></div>\n",
	     title, allowed ? "It fetches its key within some seconds. You can close this page." : "It gets no key.");
	page_end(page);
}

static enum cairn_status device_answer(struct page *page, const char *user_code, bool allowed)
{
	struct cairn_diag *diag = &page->hub.call.diag;
	struct cairn_hub_device_key key = {.name = form_value(&page->form, "name"),
					   .writing = strcmp(form_value(&page->form, "may"), "write") == 0};
	uint64_t days = 0;
	if (allowed && !form_number(&page->form, "days", 0, CAIRN_HUB_DEVICE_DAYS_MAX, &days))
		return form_refuse(diag);
	key.days = (unsigned)days;
	return cairn_hub_answer_device(page_hub(page), page_asker(page), user_code, allowed ? &key : NULL, diag);
}

static void device_answer_build(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	const char *action = form_value(&page->form, "action");
	char user_code[CAIRN_HUB_USER_CODE_CHARS + 1];
	bool allowed = strcmp(action, "allow") == 0;
	if (!page_is_signed_in(page, DEVICE_PATH) || !device_is_within_budget(page))
		return;
	if ((!allowed && strcmp(action, "deny") != 0) ||
	    !cairn_hub_user_code(form_value(&page->form, "user_code"), user_code))
		call->status = form_refuse(&call->diag);
	else
		call->status = device_answer(page, user_code, allowed);
	if (call->status == CAIRN_OK)
		device_put_done(page, allowed);
	else if (call->status != CAIRN_E_DENIED && page_take_failure(page))
		device_put_form(page);
}

static void device_post_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct page), device_answer_build);
}

const struct http_route ROUTES_PAGE_DEVICE[] = {
	PAGE_GET("/login/device", "page-device", device_get, page_free),
	PAGE_FORM("/login/device", "page-device", device_post_head, page_free),
	{0},
};
