/* Keeps the cards of repositories that no commit has kept. */
#ifndef CAIRN_SERVER_HUB_CARDS_H
#define CAIRN_SERVER_HUB_CARDS_H

#include "server/app.h"

/** app->keep_cards of a daemon with a hub: cairn_hub_keep_cards(). */
CAIRN_MUST_USE enum cairn_status hub_cards_keep(struct app *app, bool (*stop)(void *ctx), void *ctx);

#endif
