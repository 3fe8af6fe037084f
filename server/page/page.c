#include "server/page/page.h"

#include <stdio.h>

bool page_is_operator(const struct page *page)
{
	const struct cairn_hub_asker *asker = page_asker(page);
	return asker->kind == CAIRN_HUB_OPERATOR && (asker->scopes & CAIRN_TOKEN_ADMIN) && !asker->key_repo[0];
}

bool page_is_signed_in(struct page *page, const char *next)
{
	if (page_asker(page)->kind != CAIRN_HUB_NOBODY)
		return true;
	(void)snprintf(page->location, sizeof(page->location), "/login?next=%s", next);
	return false;
}

void page_set_cookie(struct page *page, const char *text, int64_t life_s)
{
	(void)snprintf(page->cookie, sizeof(page->cookie), "%s%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%ld%s",
		       hub_call_cookie(page->secure), text, (long)life_s, page->secure ? "; Secure" : "");
}
