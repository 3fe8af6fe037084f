#include "server/ask/hub_cards.h"

#include "hub/kept_card.h"

enum cairn_status hub_cards_keep(struct app *app, bool (*stop)(void *ctx), void *ctx)
{
	return cairn_hub_keep_cards(app->cas, stop, ctx);
}
