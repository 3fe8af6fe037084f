/* Stores the cards of repositories in the index (index/card.h), by README.md and config.json at the head of main. */
#ifndef CAIRN_HUB_KEPT_CARD_H
#define CAIRN_HUB_KEPT_CARD_H

#include "hub/metadata.h"
#include "hub/tree.h"

/** Reads the metadata of a git-like repository at a commit; for workers.
 * @param[out] out  owned by the caller, also after a failure
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_metadata(const struct cairn_hub *hub,
							 const struct cairn_index_repo *repo,
							 const struct cairn_index_commit *commit,
							 struct cairn_hub_metadata *out);

/** Visits the stored card of a repository. @return CAIRN_OK; CAIRN_E_NOT_FOUND it has none; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_kept_card(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						     void (*visit)(void *ctx, const struct cairn_index_card *card),
						     void *ctx);

/** Stores the present card of a repository, unless it is stored already. Reads only id and kind of repo. Call it when
 * main has other files. Does not report failures: cairn_hub_keep_cards() tries again. Waits for the index's writer if
 * there is a card to store. */
void cairn_hub_keep_card(const struct cairn_hub *hub, const struct cairn_index_repo *repo);
/** Does the same if operations change a file that the card is made from. */
void cairn_hub_keep_card_after(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
			       const struct cairn_index_operation *operations, uint32_t n);

/** Does the same for all repositories without a card: those made before there were cards, and those whose daemon ended
 * before it stored one.
 * @param stop  returns true to end early
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_keep_cards(const struct cairn_hub *hub, bool (*stop)(void *ctx), void *ctx);

#endif
